/* The smallest program there is: what is left when nothing but isolation is measured. */
int main(void)
{
    return 0;
}
