// I-12: scratch that is hard to take away: folders nested argv[2] deep, without permissions, odd names, a fifo and a socket; in argv[1].
#include "attack.h"

int main(int argc, char **argv) {
        if (chdir(arg(argc, argv, 1)) < 0)
                contained("chdir");
        int depth = atoi(arg(argc, argv, 2)), i = 0;
        mkdir("\xff\xfe new\nline", 0700);
        mkfifo("fifo", 0);
        symlink("/", "link-to-root");
        symlink("link-to-self", "link-to-self");
        for (; i < depth; i++)
                if (mkdir("nested-folder-with-a-long-name", 0700) < 0 || chdir("nested-folder-with-a-long-name") < 0)
                        break;
        int fd = open("last", O_WRONLY | O_CREAT, 0);
        if (fd < 0)
                contained("open after %d folders", i);
        if (chdir("/tmp") == 0 || chdir(argv[1]) == 0)
                chmod("nested-folder-with-a-long-name", 0);
        printf("contained: %d folders deep: only run.py can see whether they are gone\n", i);
        return 1;
}
