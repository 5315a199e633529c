/* How many primes there are below a number: primes NUMBER */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long below = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (below < 2 || below > 100000000) {
        fprintf(stderr, "usage: primes NUMBER (2 to 100000000)\n");
        return 2;
    }
    char *composite = calloc((size_t)below, 1);
    if (!composite)
        return 1;
    long count = 0;
    for (long i = 2; i < below; i++) {
        count += !composite[i];
        for (long j = i * i; !composite[i] && j < below; j += i)
            composite[j] = 1;
    }
    free(composite);
    printf("%ld\n", count);
    return 0;
}
