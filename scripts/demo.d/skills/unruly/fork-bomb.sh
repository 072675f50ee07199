#!/bin/sh
# Each call starts two more, in the background, and none of them waits.
bomb() {
        bomb | bomb &
}
bomb
wait
