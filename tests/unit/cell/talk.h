/* A conversation with the agent's serving half, as process 1 of a pid namespace but not sealed: what it does
 * with messages, without a cell around it. */
#ifndef TEST_CELL_TALK_H
#define TEST_CELL_TALK_H

#include "fixture.h"

#include <sys/types.h>

#include "agent/image.h"
#include "agent/proto.h"
#include "base/frame.h"

/* An image with what serving needs: ids, argv and env. */
struct image {
    struct sc_image head;
    uint32_t argv[3], env[1];
    char texts[400];
};
extern struct image image;
extern int stage_answer; /* of the made-up program stage */

struct talk {
    int sock;
    pid_t pid;
    char *folder; /* the work folder */
    struct sc_frame_reader *reader;
};

/* Everything as a test expects it. */
void prepare_talk(void);
/* The image's program is `program arg`. */
void make_image(const char *program, const char *arg);
/* Starts the agent; ends with close_talk, expect_failed, or expect_end. */
void open_talk(struct talk *talk);
/* Ends the stream, and so must the agent; removes the work folder. */
void close_talk(struct talk *talk);
/* FAILED with this stage and code, then its end; removes the work folder. */
void expect_failed(struct talk *talk, const char *stage, int code);
/* It ends of itself. */
void expect_end(struct talk *talk);

/* The next frame's type, its payload in `payload`; 0 when the agent ended instead. Fails when nothing comes.
 */
int next_frame(struct talk *talk, void *payload, size_t size, size_t *ret_len);
/* The same with the frame's channel. */
int next_of(struct talk *talk, uint16_t *ret_channel, void *payload, size_t size, size_t *ret_len);

void say(struct talk *talk, int type, const void *payload, size_t len);
void say_on(struct talk *talk, uint16_t channel, int type, const void *payload, size_t len);
/* FILE or DIR. */
void say_path(struct talk *talk, int type, const char *path, size_t len);
void say_file(struct talk *talk, const char *path);

#endif
