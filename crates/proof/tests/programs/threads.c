// Independent implementations to compare programs with. Prints the mean time of an operation in ns.
//   opponents ring TASKS SECONDS: a byte that goes round through TASKS threads, each of which
//     waits in read() for its pipe; an operation is a hop, of TASKS + 1
//   opponents create THREADS SECONDS: pthread_create, of THREADS threads before they are joined; each
//     makes the system calls of a thread of Rust's std
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WARMUPS = 10, STACK = 1 << 20 };

struct task { int upstream, downstream; };

static int tasks;
static int (*pipes)[2];
static pthread_t *threads;

static void *relay(void *argument) {
    struct task *task = argument;
    char token;
    while (read(task->upstream, &token, 1) == 1)
        if (write(task->downstream, &token, 1) != 1) exit(1);
    return NULL;
}

// Asks for the bounds of its stack, and has another one for signals while it lives, below which nothing
// may be written.
static void *nothing(void *argument) {
    size_t page = sysconf(_SC_PAGESIZE), size = page + SIGSTKSZ;
    pthread_attr_t attributes;
    stack_t signals;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) exit(1);
    pthread_attr_destroy(&attributes);
    sigaltstack(NULL, &signals);
    char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapped == MAP_FAILED || mprotect(mapped, page, PROT_NONE) != 0) exit(1);
    signals = (stack_t){.ss_sp = mapped + page, .ss_size = SIGSTKSZ};
    if (sigaltstack(&signals, NULL) != 0) exit(1);
    signals.ss_flags = SS_DISABLE;
    if (sigaltstack(&signals, NULL) != 0 || munmap(mapped, size) != 0) exit(1);
    return argument;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void start(int i, void *(*body)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (pthread_create(&threads[i], &attributes, body, argument) != 0) exit(1);
    pthread_attr_destroy(&attributes);
}

static long long ring(void) {
    char token = 0;
    long long begun = now();
    if (write(pipes[0][1], &token, 1) != 1) exit(1);
    if (read(pipes[tasks][0], &token, 1) != 1) exit(1);
    return now() - begun;
}

static long long create(void) {
    long long begun = now();
    for (int i = 0; i < tasks; i++) start(i, nothing, NULL);
    long long lap = now() - begun;
    for (int i = 0; i < tasks; i++) pthread_join(threads[i], NULL);
    return lap;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    tasks = atoi(arguments[2]);
    long long limit = (long long)(atof(arguments[3]) * 1e9), total = 0, laps = 0;
    threads = calloc(tasks + 1, sizeof *threads);
    pipes = calloc(tasks + 1, sizeof *pipes);
    struct task *all = calloc(tasks + 1, sizeof *all);
    int creates = strcmp(arguments[1], "create") == 0;
    for (int i = 0; !creates && i <= tasks; i++)
        if (pipe(pipes[i]) != 0) return 1;
    for (int i = 0; !creates && i < tasks; i++) {
        all[i] = (struct task){pipes[i][0], pipes[i + 1][1]};
        start(i, relay, &all[i]);
    }
    for (int warmup = WARMUPS; total < limit; warmup--) {
        long long lap = creates ? create() : ring();
        if (warmup > 0) continue;
        total += lap;
        laps++;
    }
    printf("%.3f\n", (double)total / laps / (creates ? tasks : tasks + 1));
    return 0;
}
