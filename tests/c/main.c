/* All tests in C99, in one program: the first argument names the case, which gets the arguments after it. */
#include <stdio.h>
#include <string.h>

int run_calls(int argc, char** argv);
int run_cuda(int argc, char** argv);
int run_events(int argc, char** argv);
int run_exits(int argc, char** argv);
int run_gradients(int argc, char** argv);
int run_interrupts(int argc, char** argv);
int run_memory(int argc, char** argv);
int run_operators(int argc, char** argv);
int run_worlds(int argc, char** argv);

static const struct {
  const char* name;
  int (*run)(int argc, char** argv);
} cases[] = {
    {"calls", run_calls},
    {"cuda", run_cuda},
    {"events", run_events},
    {"exits", run_exits},
    {"gradients", run_gradients},
    {"interrupts", run_interrupts},
    {"memory", run_memory},
    {"operators", run_operators},
    {"worlds", run_worlds},
};

int main(int argc, char** argv) {
  size_t i;
  for (i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; ++i)
    if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run(argc - 1, argv + 1);
  fprintf(stderr, "usage: %s CASE ARGUMENT...\n", argv[0]);
  return 2;
}
