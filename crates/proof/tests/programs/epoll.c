// A server for echo-server, as plain as one can be: epoll, level-triggered, on one thread.
//
// epoll --tasks N --message BYTES ...: echoes the messages of N connections to the socket that is
// its standard input.
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **words) {
    int left = 0, bytes = 0, one = 1;
    for (int i = 1; i + 1 < count; i += 2) {
        if (!strcmp(words[i], "--tasks")) left = atoi(words[i + 1]);
        if (!strcmp(words[i], "--message")) bytes = atoi(words[i + 1]);
    }
    char *message = malloc(bytes);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[64], event = {.events = EPOLLIN, .data.fd = 0};
    epoll_ctl(loop, EPOLL_CTL_ADD, 0, &event);
    while (left > 0) {
        int ready = epoll_wait(loop, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            int connection = events[i].data.fd;
            if (connection == 0) {
                event.data.fd = accept4(0, NULL, NULL, SOCK_CLOEXEC);
                setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            int done = 0, got = 1;
            while (done < bytes && (got = read(connection, message + done, bytes - done)) > 0) done += got;
            if (got <= 0) {
                close(connection);
                left--;
            } else if (write(connection, message, bytes) != bytes) {
                return 1;
            }
        }
    }
    return 0;
}
