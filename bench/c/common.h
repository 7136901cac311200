/* What the agent and the load programs share: the clock, the pattern that payloads are made of,
 * command-line options of the form --name value, and a loopback connection. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static inline void *grow(void *old, size_t size) {
    void *fresh = realloc(old, size);
    if (!fresh) die("out of memory");
    return fresh;
}

static inline void pin_to_cpu(int cpu) {
    cpu_set_t set;
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* Letters only: JSON never escapes them, so a server that re-serialises keeps them too. The stride of 61
 * makes a shifted or repeated piece differ from the right one. */
static inline void fill_pattern(char *to, size_t length) {
    for (size_t i = 0; i < length; i++) to[i] = (char)('a' + (i * 7 + i / 61) % 26);
}

static inline const char *option(int argc, char **argv, const char *name, const char *fallback) {
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name)) return argv[i + 1];
    return fallback;
}

static inline long number_option(int argc, char **argv, const char *name, long fallback) {
    const char *text = option(argc, argv, name, NULL);
    return text ? strtol(text, NULL, 10) : fallback;
}

static inline int connect_loopback(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket");
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

#define NOTIFICATION_HEAD "{\"jsonrpc\":\"2.0\",\"method\":\"flood\",\"params\":{\"data\":\""
#define STAMP_HEAD "{\"jsonrpc\":\"2.0\",\"method\":\"stamp\",\"params\":{\"ns\":"
#define SEQUENCE_KEY "\"seq\":"
#define SEQUENCE_DIGITS 10

/* The data string of a flood notification: ten digits of its number, then the pattern, so that the whole
 * line is about `bytes` long. */
static inline size_t flood_data_length(size_t bytes) {
    size_t around = sizeof NOTIFICATION_HEAD + sizeof SEQUENCE_KEY + 10;
    return bytes > around + SEQUENCE_DIGITS ? bytes - around : SEQUENCE_DIGITS;
}

#endif
