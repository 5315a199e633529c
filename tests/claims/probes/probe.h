/* A probe attempts things and says what came back. Called as `probe NAME[=ARG]…`, it runs each attempt in a
 * child of its own and prints one JSON object: 0 it worked, N it was refused with errno N, -N signal N ended
 * it. */
#ifndef PROBE_H
#define PROBE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct attempt {
    const char *name;
    int (*run)(char *arg); /* 0 or a positive errno; `arg` is "" when none was given */
};

/* 0 or errno of a call that answers -1. */
#define TRIED(call) ((call) == -1 ? errno : 0)

static inline int probe_one(const struct attempt *table, char *text)
{
    char *arg = strchr(text, '=');
    size_t len = arg ? (size_t)(arg - text) : strlen(text);

    for (; table->name; table++) {
        if (strlen(table->name) == len && strncmp(table->name, text, len) == 0)
            return table->run(arg ? arg + 1 : text + len);
    }
    fprintf(stderr, "probe: no attempt %s\n", text);
    return 255;
}

static inline int probe_main(const struct attempt *table, int argc, char **argv)
{
    printf("{");
    for (int i = 1; i < argc; i++) {
        int status = 0;
        char label[256];
        snprintf(label, sizeof label, "%s", argv[i]);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(probe_one(table, argv[i]));
        if (child < 0 || waitpid(child, &status, 0) < 0) {
            perror("probe: fork");
            return 1;
        }
        printf("%s\"%s\": %d", i > 1 ? ", " : "", label,
               WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
    printf("}\n");
    return 0;
}

#endif
