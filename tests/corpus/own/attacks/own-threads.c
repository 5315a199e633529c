#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pthread.h>
static void *wait_long(void *x) { pause(); return x; }
int main(void)
{
    int made = 0;
    pthread_t t;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 65536);
    while (made < 500 && pthread_create(&t, &a, wait_long, NULL) == 0)
        made++;
    printf(made > 100 ? "ESCAPED: %d threads\n" : "CONTAINED: %d threads\n", made);
    return 0;
}
