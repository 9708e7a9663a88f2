#pragma once
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

// A timeval belongs to whichever C module Swift imported first, so it is used only here.
static inline int relay_event_add_timer(struct event *event, unsigned long microseconds) {
    struct timeval delay = {.tv_sec = microseconds / 1000000, .tv_usec = microseconds % 1000000};
    return event_add(event, &delay);
}

// With _GNU_SOURCE, these take a transparent union that Swift can't fill.
static inline int relay_bind(int descriptor, const struct sockaddr *address, socklen_t length) {
    return bind(descriptor, address, length);
}
static inline int relay_connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    return connect(descriptor, address, length);
}
static inline int relay_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
    return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
static inline int relay_getsockname(int descriptor, struct sockaddr *address, socklen_t *length) {
    return getsockname(descriptor, address, length);
}
static inline int relay_getpeername(int descriptor, struct sockaddr *address, socklen_t *length) {
    return getpeername(descriptor, address, length);
}

// prctl takes variable arguments, which Swift can't pass.
static inline int relay_set_dumpable(int dumpable) {
    return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}
