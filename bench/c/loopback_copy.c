/* How fast bytes go through one loopback socket on this machine: a child writes, the parent reads.
 *
 *   loopback_copy --bytes N [--writer-cpu A] [--reader-cpu B]        prints {"bytes":N,"seconds":S} */
#include "common.h"

#include <sys/wait.h>

#define PIECE (256 << 10)

int main(int argc, char **argv) {
    long long total = atoll(option(argc, argv, "--bytes", "100000000")), done = 0;
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    char *piece = grow(NULL, PIECE);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fill_pattern(piece, PIECE);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1)) die("listen");
    if (getsockname(listener, (struct sockaddr *)&at, &size)) die("getsockname");
    pid_t child = fork();
    if (child < 0) die("fork");
    if (!child) {
        pin_to_cpu((int)number_option(argc, argv, "--writer-cpu", -1));
        int to = connect_loopback(ntohs(at.sin_port));
        fcntl(to, F_SETFL, 0);
        while (done < total) {
            size_t next = total - done < PIECE ? (size_t)(total - done) : PIECE;
            ssize_t wrote = write(to, piece, next);
            if (wrote <= 0) _exit(1);
            done += wrote;
        }
        _exit(0);
    }
    pin_to_cpu((int)number_option(argc, argv, "--reader-cpu", -1));
    int from = accept(listener, NULL, NULL);
    uint64_t start = now_ns();
    while (done < total) {
        ssize_t got = read(from, piece, PIECE);
        if (got <= 0) break;
        done += got;
    }
    double seconds = (double)(now_ns() - start) / 1e9;
    waitpid(child, NULL, 0);
    printf("{\"bytes\":%lld,\"seconds\":%.6f}\n", done, seconds);
    return done == total ? 0 : 1;
}
