/* Names of files of the session as URIs: snapcell:///home/user/a%20file.csv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "gate/mcp/parts.h"

static const char SCHEME[] = "snapcell://";
static const char WORK_FOLDER[] = "/home/user/";
#define PATH_LENGTH_MAX 4095

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~/", c));
}

char *mcp_uri_of(const char *path)
{
    struct sc_buf uri;
    int r;
    while (!strncmp(path, "./", 2))
        path += 2;
    sc_buf_init(&uri, 4 * PATH_LENGTH_MAX);
    r = sc_buf_printf(&uri, "%s%s", SCHEME, *path == '/' ? "" : WORK_FOLDER);
    for (const char *c = path; *c && r == 0; c++)
        r = is_plain((unsigned char)*c) ? sc_buf_add(&uri, c, 1)
                                        : sc_buf_printf(&uri, "%%%02X", (unsigned)(unsigned char)*c);
    char *text = r == 0 ? sc_buf_steal(&uri, NULL) : NULL;
    sc_buf_fini(&uri);
    return text;
}

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

char *mcp_path_of(const char *uri)
{
    size_t used = 0, len = strlen(uri);
    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0 || uri[strlen(SCHEME)] != '/' || len > 4 * PATH_LENGTH_MAX)
        return NULL;
    char *path = malloc(len + 1);
    for (const char *c = uri + strlen(SCHEME); path && *c; c++) {
        int high = *c == '%' ? hex(c[1]) : -1, low = high >= 0 ? hex(c[2]) : -1;
        char byte = low >= 0 ? (char)(high * 16 + low) : *c;
        if (!byte || used == PATH_LENGTH_MAX) {
            free(path);
            return NULL;
        }
        path[used++] = byte;
        c += low >= 0 ? 2 : 0;
    }
    if (path)
        path[used] = '\0';
    return path;
}

const char *mcp_mime_of(const char *path, bool is_text)
{
    static const struct {
        const char *suffix, *mime;
    } rows[] = {
        {"png", "image/png"},       {"jpg", "image/jpeg"},        {"jpeg", "image/jpeg"},
        {"gif", "image/gif"},       {"webp", "image/webp"},       {"svg", "image/svg+xml"},
        {"pdf", "application/pdf"}, {"json", "application/json"}, {"csv", "text/csv"},
        {"html", "text/html"},      {"md", "text/markdown"},      {"py", "text/x-python"},
        {"js", "text/javascript"},  {"xml", "application/xml"},   {"zip", "application/zip"},
        {"wav", "audio/wav"},       {"mp3", "audio/mpeg"},        {"ogg", "audio/ogg"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(dot + 1, rows[i].suffix))
            return rows[i].mime;
    return is_text ? "text/plain" : "application/octet-stream";
}
