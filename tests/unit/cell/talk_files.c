#include "talk_files.h"

#include <fcntl.h>
#include <unistd.h>

struct answer answer;

const char *here(const struct talk *t, const char *path)
{
    static char rooms[2][5000];
    static unsigned n;
    char *room = rooms[n++ % 2];
    snprintf(room, sizeof rooms[0], "%s/%s", t->folder, path);
    return room;
}

void put_file(const struct talk *t, const char *path, const char *text)
{
    int fd = open(here(t, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void expect_file(const struct talk *t, const char *path, const char *text)
{
    char room[4096];
    int fd = open(here(t, path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    ssize_t n = read(fd, room, sizeof room - 1);
    assert_true(n >= 0);
    room[n] = '\0';
    assert_string_equal(room, text);
    close(fd);
}

void ask(struct talk *t, struct sc_msg_file_op order, const char *path, const char *to)
{
    char payload[sizeof order + 8192 + 2];
    size_t len = sizeof order;
    if (!order.credit)
        order.credit = 1 << 20;
    memcpy(payload, &order, sizeof order);
    memcpy(payload + len, path, strlen(path) + 1);
    len += strlen(path) + 1;
    if (to) {
        memcpy(payload + len, to, strlen(to) + 1);
        len += strlen(to) + 1;
    }
    memset(&answer, 0, sizeof answer);
    say_on(t, 1, SC_MSG_FILE_OP, payload, len);
}

int follow(struct talk *t)
{
    static char bytes[SC_FRAME_MAX];
    size_t len;
    int type = next_frame(t, bytes, sizeof bytes, &len);
    if (type == SC_MSG_OUTPUT) {
        assert_true(answer.len + len < sizeof answer.out);
        memcpy(answer.out + answer.len, bytes, len);
        answer.len += len;
    } else if (type == SC_MSG_FILE_DONE) {
        memcpy(&answer.done, bytes, sizeof answer.done);
        answer.is_done = true;
    } else if (type == SC_MSG_INPUT_CREDIT) {
        answer.credit += ((struct sc_msg_credit *)bytes)->bytes;
    } else if (type == SC_MSG_FAILED || type == SC_MSG_COMMAND_FAILED || type == 0) {
        fail_msg("%d: %s %s", type, ((struct sc_msg_failed *)bytes)->stage,
                 ((struct sc_msg_failed *)bytes)->object);
    }
    return type;
}

int finish(struct talk *t)
{
    while (!answer.is_done)
        follow(t);
    return answer.done.code;
}

static void give(struct talk *t, const void *data, size_t len)
{
    for (size_t at = 0; at < len && !answer.is_done;) {
        size_t room = SC_INPUT_CREDIT - (size_t)(at - answer.credit), n = len - at < room ? len - at : room;
        if (n > 0)
            say_on(t, 1, SC_MSG_INPUT, (const char *)data + at, n);
        at += n;
        if (at < len)
            follow(t);
    }
    say_on(t, 1, SC_MSG_INPUT_END, NULL, 0);
}

int with_input(struct talk *t, struct sc_msg_file_op order, const char *path, const void *data, size_t len)
{
    ask(t, order, path, NULL);
    give(t, data, len);
    return finish(t);
}

int plain(struct talk *t, uint32_t kind, const char *path)
{
    ask(t, (struct sc_msg_file_op){.kind = kind}, path, NULL);
    return finish(t);
}

unsigned count_names(const struct talk *t)
{
    char line[5000];
    snprintf(line, sizeof line, "ls -A %s | wc -l", t->folder);
    FILE *pipe = popen(line, "r");
    unsigned n = 0;
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%u", &n), 1);
    pclose(pipe);
    return n;
}
