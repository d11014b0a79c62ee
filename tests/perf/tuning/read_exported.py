"""Reads what `tutti export` writes, as the libraries look a call up there: which algorithm runs a call of one
collective with a whole vector of some bytes; None where the library decides."""
import json
import re


def in_openmpi(text, name, ranks, size):
    """coll/tuned: the last number of ranks, and the last size, that are not above the call's, or the first one.
    Algorithm 0 is none."""
    words = re.findall(r"\d+", re.sub(r"#.*", "", text))
    numbers = iter(map(int, words))
    found = None
    for _ in range(next(numbers)):
        collective, tables = next(numbers), []
        for _ in range(next(numbers)):
            least = next(numbers)
            tables.append((least, [tuple(next(numbers) for _ in range(4)) for _ in range(next(numbers))]))
        if collective == {"allreduce": 2, "bcast": 7}[name]:
            rules = [rules for least, rules in tables if least <= ranks] or [tables[0][1]]
            fits = [rule for rule in rules[-1] if rule[0] <= size] or [rules[-1][0]]
            found = fits[-1][1]
    assert next(numbers, None) is None, "the file has more than its counts say"
    return found or None


def in_openmpi6(text, name, ranks, size):
    """The first entry that fits."""
    for table in json.loads(text)["collectives"].get(name, []):
        if not table["comm_size_min"] <= ranks <= table["comm_size_max"]:
            continue
        for rule in table["rules"]:
            most = rule["msg_size_max"]
            if rule["msg_size_min"] <= size and (most == "inf" or size <= most):
                return rule["alg"]
        break
    return None


def in_mpich(text, name, ranks, size):
    """The first condition that holds, at each level: of a call within a group, not in place, with a built-in
    operator and more elements than ranks."""

    def holds(condition):
        left, _, right = condition.partition("<=" if "<=" in condition else "=")
        known = {"comm_size": ranks, "avg_msg_size": size, "total_msg_size": size}
        if "<=" in condition:
            return known[left] <= int(right)
        words = {"comm_type": "intra", "is_op_built_in": "yes", "is_commutative": "yes",
                 "is_sendbuf_inplace": "no", "comm_hierarchy": "flat"}  # fmt: skip
        if left == "comm_size" and right == "pow2":
            return ranks & (ranks - 1) == 0
        return right == "any" or words.get(left) == right

    branch = json.loads(text)[f"collective={name}"]
    while True:
        key = list(branch)[0]
        if key.startswith("algorithm="):
            return re.fullmatch(r"algorithm=MPIR_\w+?_intra_(\w+)", key)[1]
        branch = next(inner for condition, inner in branch.items() if holds(condition))


def in_intel(text, name, ranks, size):
    """The first number whose range has the size, of any number of ranks; else the last number of all."""
    line = re.search(rf'^export I_MPI_ADJUST_{name.upper()}="(.*)"$', text, re.MULTILINE)
    rules = [tuple(map(int, rule)) for rule in re.findall(r"(\d+):(\d+)-(\d+)", line[1] if line else "")]
    fits = [number for number, low, high in rules if low <= size <= high]
    return fits[0] if fits else rules[-1][0] if rules else None


def in_ucc(text, name, ranks, size):
    """The token whose ranges have the size and the ranks."""
    for collective, low, high, least, most, algorithm in re.findall(
        r"(\w+):(\d+)-(\d+|inf):\[(\d+)-(\d+)\]:inf:@(\w+)", text
    ):
        is_in = int(low) <= size and (high == "inf" or size < int(high))
        if collective == name and is_in and int(least) <= ranks <= int(most):
            return algorithm
    return None


def in_nccl(text, name, ranks, size):
    """The first line that fits; those for any number of ranks stand for no choice."""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        collective, low, high, algorithm, _, _, _, of_ranks = line.split(",")
        if collective == name and int(low) <= size <= int(high) and of_ranks in ("-1", str(ranks)):
            return algorithm if of_ranks != "-1" else None
    return None


READERS = {"openmpi": in_openmpi, "openmpi6": in_openmpi6, "mpich": in_mpich, "mpich5": in_mpich,
           "intel": in_intel, "ucc": in_ucc, "nccl": in_nccl}  # fmt: skip
