/* One error object for the whole library: set once at the root of the trouble, wrapped on its way up. */
#ifndef SC_BASE_ERR_H
#define SC_BASE_ERR_H

#define SC_ERR_MESSAGE_MAX 1024
#define SC_ERR_FIELD_MAX 64

/* Who can mend it. The command line turns USAGE into exit 2 and the rest into exit 125. */
enum sc_err_kind {
    SC_ERR_NONE = 0,
    SC_ERR_USAGE,   /* the request is wrong: names field, value and what is allowed */
    SC_ERR_HOST,    /* this host cannot do what was asked: names it, and how to accept less */
    SC_ERR_SANDBOX, /* Snapcell itself failed */
};

struct sc_err {
    enum sc_err_kind kind;
    int code;                     /* negative errno */
    char field[SC_ERR_FIELD_MAX]; /* option or JSON field at fault, or "" */
    char message[SC_ERR_MESSAGE_MAX];
};

/* Every function here takes a NULL err: then only the return value tells. All return `code`, so that
 * `return sc_err_set(err, ...)` reads as one thought. `code` is a negative errno. */
int sc_err_set(struct sc_err *err, enum sc_err_kind kind, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Bad input: `field` is the option or JSON path at fault. */
int sc_err_usage(struct sc_err *err, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "what: strerror(-code)", kind SANDBOX. */
int sc_err_sys(struct sc_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the message that is there. */
int sc_err_wrap(struct sc_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A usage error of a part becomes one of the whole: "limits.wall_ms: …" → "spec.limits.wall_ms: …". Others
 * stay. */
void sc_err_below(struct sc_err *err, const char *part);

void sc_err_clear(struct sc_err *err);

#endif
