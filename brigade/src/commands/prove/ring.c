// A byte that goes round through TASKS threads, all of them on one CPU, each of
// which waits in read() for its pipe: prints the mean time of a hop in
// nanoseconds. Usage: ring TASKS CPU SECONDS
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct task { int upstream, downstream; };

static void *relay(void *argument) {
    struct task *task = argument;
    char token;
    while (read(task->upstream, &token, 1) == 1)
        if (write(task->downstream, &token, 1) != 1) exit(1);
    close(task->downstream);
    return NULL;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int tasks = atoi(arguments[1]);
    long long limit = (long long)(atof(arguments[3]) * 1e9);
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(atoi(arguments[2]), &cpu);
    if (sched_setaffinity(0, sizeof cpu, &cpu) != 0) return 1;

    int (*pipes)[2] = malloc((tasks + 1) * sizeof *pipes);
    struct task *all = malloc(tasks * sizeof *all);
    for (int i = 0; i <= tasks; i++)
        if (pipe(pipes[i]) != 0) return 1;
    for (int i = 0; i < tasks; i++) {
        pthread_t thread;
        all[i] = (struct task){pipes[i][0], pipes[i + 1][1]};
        if (pthread_create(&thread, NULL, relay, &all[i]) != 0) return 1;
    }

    char token = 0;
    long long total = 0, laps = 0, begun = now();
    for (int warmup = 10; total < limit && now() - begun < 20 * limit; warmup--) {
        long long sent = now();
        if (write(pipes[0][1], &token, 1) != 1) return 1;
        if (read(pipes[tasks][0], &token, 1) != 1) return 1;
        if (warmup > 0) continue;
        total += now() - sent;
        laps++;
    }
    printf("%.3f\n", (double)total / laps / (tasks + 1));
    return 0;
}
