/* The answer that is judged: square roots of the numbers on stdin. */
#include <math.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    double number;
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        puts("root 1");
        return 0;
    }
    while (scanf("%lf", &number) == 1)
        printf("%.9f\n", sqrt(number));
    return 0;
}
