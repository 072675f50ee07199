/* The whole of one wing and the ground floor are linked into this program: a symbol of another wing is an error of the link. */
int main(void) {
        return 0;
}
