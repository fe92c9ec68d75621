/* A program that no library enters. */
int main(void) {
    return 0;
}
