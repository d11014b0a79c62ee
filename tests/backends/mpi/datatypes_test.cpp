// Datatypes and operators of MPI as tutti's, both ways.
#include <gtest/gtest.h>
#include <mpi.h>

#include <optional>

#include <tutti/mpi.hpp>

namespace tutti::v0 {
namespace {

TEST(MpiDatatypes, ThoseOfTuttiGoToTheMpiAndBack) {
  for (int i = 0; i < kDatatypes; ++i) {
    const auto type = static_cast<Datatype>(i);
    const MPI_Datatype theirs = mpi::mpi_datatype_of(type);
    if (type == Datatype::f16 || type == Datatype::bf16 || type == Datatype::opaque) {
      EXPECT_EQ(theirs, MPI_DATATYPE_NULL);
      continue;
    }
    MPI_Aint begin = 0, extent = 0;
    MPI_Type_get_extent(theirs, &begin, &extent);
    EXPECT_EQ(static_cast<std::size_t>(extent), size_of(type)) << name_of(type);
    EXPECT_EQ(mpi::datatype_of(theirs), type) << name_of(type);
  }
}

TEST(MpiDatatypes, OthersOfTheMpiHaveTheTypeOfTheirElements) {
  EXPECT_EQ(mpi::datatype_of(MPI_INT), Datatype::i32);
  EXPECT_EQ(mpi::datatype_of(MPI_UNSIGNED_CHAR), Datatype::u8);
  EXPECT_EQ(mpi::datatype_of(MPI_BYTE), Datatype::u8);
  EXPECT_EQ(mpi::datatype_of(MPI_C_BOOL), Datatype::u8);
  EXPECT_EQ(mpi::datatype_of(MPI_AINT), Datatype::i64);
  EXPECT_EQ(mpi::datatype_of(MPI_DOUBLE_PRECISION), Datatype::f64);
  for (const MPI_Datatype none : {MPI_LONG_DOUBLE, MPI_LONG_DOUBLE_INT, MPI_SHORT_INT, MPI_PACKED})
    EXPECT_EQ(mpi::datatype_of(none), std::nullopt);
}

TEST(MpiDatatypes, DerivedOnesHaveNone) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  EXPECT_EQ(mpi::datatype_of(pair), std::nullopt);
  MPI_Type_set_name(pair, "MPI_INT");  // a name of the program's
  EXPECT_EQ(mpi::datatype_of(pair), std::nullopt);
  MPI_Type_free(&pair);
}

TEST(MpiOperators, ThoseOfTuttiGoToTheMpiAndBack) {
  for (int i = 0; i < kOperatorKinds; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    const MPI_Op theirs = mpi::mpi_operator_of(kind);
    if (kind == OperatorKind::average || kind == OperatorKind::user) EXPECT_EQ(theirs, MPI_OP_NULL);
    else EXPECT_EQ(mpi::operator_of(theirs), kind) << name_of(kind);
  }
  EXPECT_EQ(mpi::operator_of(MPI_OP_NULL), std::nullopt);
  EXPECT_EQ(mpi::operator_of(MPI_REPLACE), std::nullopt);
  EXPECT_EQ(mpi::operator_of(MPI_NO_OP), std::nullopt);
}

}  // namespace
}  // namespace tutti::v0
