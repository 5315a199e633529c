/* A new program: a child that shares its maker's memory until exec, goes through the program stages, and
 * becomes it. The maker is the agent itself, or a command's shepherd. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/sys.h"

#define PATH_ROOM 4096

struct child {
    struct sc_agent *agent;
    const struct sc_agent_program *program;
    struct sc_msg_failed *failed;
    char path[PATH_ROOM];
};

/* The one place that decides which file a bare command name means: PATH of the program's own environment. */
static int find_program(struct child *child)
{
    const char *name = child->program->argv[0], *path = "/usr/local/bin:/usr/bin:/bin";
    int r = -ENOENT;
    size_t name_len = strlen(name);
    if (strchr(name, '/')) {
        if (name_len >= PATH_ROOM)
            return -ENAMETOOLONG;
        memcpy(child->path, name, name_len + 1);
        return access(name, X_OK) < 0 ? -errno : 0;
    }
    for (char **env = child->program->env; *env; env++)
        if (!strncmp(*env, "PATH=", 5))
            path = *env + 5;
    while (*path) {
        size_t len = strcspn(path, ":");
        struct stat st;
        if (len > 0 && len + name_len + 2 <= PATH_ROOM) {
            memcpy(child->path, path, len);
            child->path[len] = '/';
            memcpy(child->path + len + 1, name, name_len + 1);
            if (stat(child->path, &st) == 0 && S_ISREG(st.st_mode)) {
                if (access(child->path, X_OK) == 0)
                    return 0;
                r = -errno;
            }
        }
        path += len + (path[len] == ':');
    }
    return r;
}

/* Descriptors 0–2 are the stages' matter; 3 is the runner's stream and 4 the fork socket, where they are.
 * Both stand above the slots until now. */
static int keep_streams(const struct sc_agent_program *program)
{
    const int more[2] = {program->runner, program->socket};
    for (int i = 0; i < 2; i++) {
        if (more[i] < 0)
            close(3 + i);
        else if (dup2(more[i], 3 + i) < 0)
            return -errno;
    }
    return sc_sys_close_range(5, ~0u, 0);
}

static int child_main(void *arg)
{
    struct child *child = arg;
    const struct sc_agent_program *program = child->program;
    int r = child->agent->enter_program(child->agent->data, program->entry, child->failed);
    if (r < 0)
        _exit(1);
    r = find_program(child);
    if (r == 0)
        r = keep_streams(program);
    if (r == 0) {
        execve(child->path, program->argv, program->env);
        r = -errno;
    }
    sc_agent_describe(child->failed, "exec", program->argv[0], r);
    _exit(1);
}

pid_t sc_agent_spawn(struct sc_agent *agent, const struct sc_agent_program *program,
                     struct sc_msg_failed *failed)
{
    static char stack[64 * 1024] __attribute__((aligned(16)));
    static struct child child;
    failed->code = 0;
    child = (struct child){.agent = agent, .program = program, .failed = failed};
    /* CLONE_VFORK: the caller sleeps until the child has called exec or ended, so the shared memory has one
     * user. */
    int pid = clone(child_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
    if (pid < 0) {
        sc_agent_describe(failed, "exec", "process", -errno);
        return -errno;
    }
    return failed->code < 0 ? failed->code : pid;
}

void sc_agent_image_texts(const struct sc_image *image, uint32_t at, uint32_t count, char **ret_list)
{
    const uint32_t *places = (const uint32_t *)sc_image_text(image, at);
    for (uint32_t i = 0; i < count; i++)
        ret_list[i] = (char *)sc_image_text(image, places[i]);
    ret_list[count] = NULL;
}

pid_t sc_agent_spawn_image(struct sc_agent *agent, struct sc_msg_failed *failed)
{
    static char *argv[SC_AGENT_ARGS_MAX + 1], *env[SC_AGENT_ARGS_MAX + 1];
    const struct sc_image *image = agent->image;
    if (image->argc == 0 || image->argc > SC_AGENT_ARGS_MAX || image->envc > SC_AGENT_ARGS_MAX) {
        sc_agent_describe(failed, "exec", "argument list", -E2BIG);
        return -E2BIG;
    }
    sc_agent_image_texts(image, image->argv, image->argc, argv);
    sc_agent_image_texts(image, image->env, image->envc, env);
    const struct sc_agent_program program = {.argv = argv, .env = env, .runner = -1, .socket = -1};
    return sc_agent_spawn(agent, &program, failed);
}
