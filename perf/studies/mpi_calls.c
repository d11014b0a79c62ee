/* Times isolated calls of an MPI in a job of its own, for beside_mpis.py:
 *   mpi_calls COLLECTIVES BEGIN END FACTOR MILLISECONDS FILE.csv
 * COLLECTIVES are a,b,...; sizes are bytes of the whole vector, as in tutti sweep; MILLISECONDS are spent on
 * each cell. A sample has the steps of "Isolated calls" in docs/sweep.md, with the MPI's own barrier: the
 * call once untimed, the barrier, a pause of 5 us, the call. It is the time of the slowest rank. The file
 * has the median of each cell. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostSamples = 5000, kLeastSamples = 10, kWarmUp = 10, kPage = 4096 };
static const double kPause = 5e-6;

typedef struct {
  const char* name;
  int count; /* floats of the whole vector: a multiple of the ranks */
  int rank, ranks;
  float *in, *out;
} Call;

static const char* const kNames[] = {"all_reduce",     "broadcast", "all_gather", "all_to_all", "reduce",
                                     "reduce_scatter", "scatter",   "gather",     "barrier"};

/* @param list a,b,... */
static int has_name(const char* list, const char* name) {
  const size_t length = strlen(name);
  while (strncmp(list, name, length) != 0 || (list[length] != ',' && list[length] != '\0')) {
    list = strchr(list, ',');
    if (list++ == NULL) return 0;
  }
  return 1;
}

static int is(const Call* call, const char* name) {
  return strcmp(call->name, name) == 0;
}

static void run(const Call* call) {
  const MPI_Comm all = MPI_COMM_WORLD;
  const int part = call->count / call->ranks;
  if (is(call, "all_reduce")) MPI_Allreduce(call->in, call->out, call->count, MPI_FLOAT, MPI_SUM, all);
  else if (is(call, "broadcast")) MPI_Bcast(call->in, call->count, MPI_FLOAT, 0, all);
  else if (is(call, "all_gather")) MPI_Allgather(call->in, part, MPI_FLOAT, call->out, part, MPI_FLOAT, all);
  else if (is(call, "all_to_all")) MPI_Alltoall(call->in, part, MPI_FLOAT, call->out, part, MPI_FLOAT, all);
  else if (is(call, "reduce")) MPI_Reduce(call->in, call->out, call->count, MPI_FLOAT, MPI_SUM, 0, all);
  else if (is(call, "reduce_scatter"))
    MPI_Reduce_scatter_block(call->in, call->out, part, MPI_FLOAT, MPI_SUM, all);
  else if (is(call, "scatter")) MPI_Scatter(call->in, part, MPI_FLOAT, call->out, part, MPI_FLOAT, 0, all);
  else if (is(call, "gather")) MPI_Gather(call->in, part, MPI_FLOAT, call->out, part, MPI_FLOAT, 0, all);
  else MPI_Barrier(all);
}

/* All inputs are 1, so all results are, or the number of ranks. @return elements that are wrong. */
static int wrong_elements(const Call* call) {
  const int has_result = call->rank == 0 || !(is(call, "reduce") || is(call, "gather"));
  const int is_part = is(call, "reduce_scatter") || is(call, "scatter");
  const float* const result = is(call, "broadcast") ? call->in : call->out;
  const float expected = strstr(call->name, "reduce") != NULL ? (float)call->ranks : 1.0F;
  int i, wrong = 0;
  if (!has_result || is(call, "barrier")) return 0;
  for (i = 0; i < (is_part ? call->count / call->ranks : call->count); ++i)
    if (result[i] != expected) ++wrong;
  return wrong;
}

static double sample(const Call* call) {
  double begin, mine, slowest;
  int i;
  run(call);
  for (i = 0; i < call->count; ++i) call->in[i] = 1.0F;
  MPI_Barrier(MPI_COMM_WORLD);
  for (begin = MPI_Wtime(); MPI_Wtime() - begin < kPause;) continue;
  begin = MPI_Wtime();
  run(call);
  mine = MPI_Wtime() - begin;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* @return the median of as many samples as the budget allows, in seconds. */
static double median_of(const Call* call, double budget) {
  static double times[kMostSamples];
  double begin;
  int i, count = 0, goes_on = 1;
  for (i = 0; i < kWarmUp; ++i) sample(call);
  for (begin = MPI_Wtime(); goes_on;) {
    times[count++] = sample(call);
    goes_on = count < kMostSamples && (count < kLeastSamples || MPI_Wtime() - begin < budget);
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  qsort(times, (size_t)count, sizeof *times, compare);
  return times[count / 2];
}

/* An array 16 bytes behind a page, as malloc places large ones, and as tutti sweep does: small ones of malloc
 * lie behind each other, at distances for which some processors copy ten times as slowly. */
static float* place_array(void* block) {
  const uintptr_t page = ((uintptr_t)block + kPage - 1) / kPage * kPage;
  return (float*)(page + 16);
}

static void measure(Call* call, long bytes, double budget, FILE* file) {
  const int least = call->ranks;
  int wrong, all;
  double median;
  void *in, *out;
  call->count = (int)(bytes / (long)sizeof(float)) / least * least;
  if (call->count < least) call->count = least;
  in = malloc((size_t)call->count * sizeof(float) + 2 * kPage);
  out = calloc((size_t)call->count * sizeof(float) + 2 * kPage, 1);
  if (in == NULL || out == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
  call->in = place_array(in);
  call->out = place_array(out);
  for (int i = 0; i < call->count; ++i) call->in[i] = 1.0F;
  median = median_of(call, budget);
  wrong = wrong_elements(call);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (file != NULL)
    fprintf(file, "%s,alone,%ld,false,private,%.4f,%d\n", call->name, bytes, median * 1e6, all);
  free(in);
  free(out);
}

int main(int count, char** words) {
  Call call = {0};
  FILE* file = NULL;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &call.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &call.ranks);
  if (count != 7 || atol(words[2]) < 1 || atol(words[4]) < 2) {
    if (call.rank == 0) fprintf(stderr, "mpi_calls COLLECTIVES BEGIN END FACTOR MILLISECONDS FILE.csv\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (call.rank == 0) {
    file = fopen(words[6], "w");
    if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
    fprintf(file, "collective,algorithm,bytes,in_place,buffers,median_us,wrong\n");
  }
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (!has_name(words[1], kNames[i])) continue;
    call.name = kNames[i];
    for (long bytes = atol(words[2]); bytes <= atol(words[3]); bytes *= atol(words[4]))
      measure(&call, bytes, atof(words[5]) / 1e3, file);
  }
  if (file != NULL) fclose(file);
  MPI_Finalize();
  return 0;
}
