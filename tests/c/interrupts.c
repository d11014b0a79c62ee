/* Signals in calls that wait: tutti_interrupt_by, from C99. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

static volatile int32_t interrupted = 0;

static void interrupt(int number) {
  (void)number;
  interrupted = 1;
}

/* A signal comes within the next call. */
static void interrupt_soon(void) {
  struct itimerval soon = {{0, 0}, {0, 100000}};
  interrupted = 0;
  require_true(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
}

/* The other rank does not come. The place is free again afterwards. */
static void test_init(int32_t rank) {
  char url[64];
  tutti_init_options options;
  tutti_communicator* world = NULL;
  int i;
  snprintf(url, sizeof url, "unix://interrupts-%d", (int)getpid());
  tutti_init_options_defaults(&options, sizeof options);
  options.url = url;
  options.rank = rank;
  options.ranks = 2;
  for (i = 0; i < 2; ++i) {
    interrupt_soon();
    require_status(tutti_init(&options, &world), TUTTI_ABORTED, "init alone");
    require_text("interrupted while it waited");
    require_true(world == NULL, "no communicator is made");
  }
}

/* No message comes. The communicator stays usable. */
static void test_probe(tutti_communicator* world) {
  tutti_arrival arrival;
  arrival.size = sizeof arrival;
  interrupt_soon();
  require_status(tutti_probe(world, TUTTI_ANY_RANK, 0, TUTTI_FOREVER, &arrival), TUTTI_ABORTED,
                 "probe");
  interrupted = 0;
  require_ok(tutti_barrier(world), "a probe fails nothing");
}

/* Rank 1 waits for rank 0, which does not call. All get an error that names rank 1. */
static void test_split(tutti_communicator* world) {
  char byte = 0;
  tutti_communicator* whole;
  tutti_communicator* part = NULL;
  tutti_error error;
  tutti_status status;
  if (tutti_size(world) == 1) return;
  whole = communicator_to_fail(world);
  interrupted = 0;
  if (tutti_rank(world) == 1) interrupt_soon();
  status = tutti_rank(world) == 0 ? tutti_recv(whole, &byte, 1, TUTTI_U8, 1, 0)
                                  : tutti_split(whole, 0, 0, &part);
  require_status(status, TUTTI_ABORTED, "split");
  error.size = sizeof error;
  tutti_last_error(&error);
  require_true(error.rank == 1, "rank 1 was interrupted");
  tutti_communicator_free(whole);
}

int run_interrupts(int argc, char** argv) {
  tutti_communicator* world = NULL;
  (void)argc;
  (void)argv;
  require_true(signal(SIGALRM, interrupt) != SIG_ERR, "signal");
  require_ok(tutti_init(NULL, &world), "init");
  tutti_interrupt_by(&interrupted);
  test_init(0);
  test_init(1);
  interrupted = 0;
  test_probe(world);
  test_split(world);
  tutti_interrupt_by(NULL);
  tutti_communicator_free(world);
  return 0;
}
