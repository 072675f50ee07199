/* Runs: supervisor, CLI. Words of support.c. */
#pragma once

/* Words that a summary may add, of no content: no denial, no duty, no doubt. */
static const char any_text[] =
        "a an and are as at be been being but by did do does for from had has have i in into is it its my of on or our "
        "so such that the their them then there these they this those to was we were when where which while who with "
        "you your issue bug problem error decision constraint rule blocker";
