#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int decimal_digits(uint64_t v, char ret[static DECIMAL_DIGITS_MAX]) {
        char back[DECIMAL_DIGITS_MAX];
        int n = 0;

        do
                back[n++] = (char)('0' + v % 10);
        while ((v /= 10) > 0);
        for (int i = 0; i < n; i++)
                ret[i] = back[n - 1 - i];
        return n;
}

/* Adds 1 to the last digit before the exponent: "9.99e-5" becomes "10.00e-5", for strtod the same. Needs a byte
 * more. */
static void decimal_step_up(char *text) {
        char *e = strchr(text, 'e'), *p = e;

        while (p > text) {
                p--;
                if (*p == '.')
                        continue;
                if (*p != '9') {
                        ++*p;
                        return;
                }
                *p = '0';
        }
        memmove(text + 1, text, strlen(text) + 1);
        *text = '1';
}

/* The digits of "D.DDDe±X" or "DD.DDDe±X". */
static int decimal_take(const char *text, char ret[static DECIMAL_DIGITS_MAX], int *ret_exp10) {
        int n = 0, before_point = 0;
        const char *p;

        for (p = text; *p != 'e'; p++)
                if (*p != '.')
                        ret[n++] = *p;
        before_point = (int)strcspn(text, ".e");
        *ret_exp10 = atoi(p + 1) + before_point;
        return n;
}

/* The digits of printf are the closest of their length. For a power of two they may read back as the double below it,
 * although digits of the same length exist that read back right: the doubles below a power of two are twice as close as
 * the doubles above, so that the next digits above may still belong to the power of two. 2^-140 is an example. */
static int decimal_search(double d, char ret[static DECIMAL_DIGITS_MAX], int *ret_exp10) {
        int exponent, least = d >= DBL_MIN ? DBL_DIG - 1 : 0;
        bool is_power = frexp(d, &exponent) == 0.5;
        char text[48];

        for (int precision = least; precision < 17; precision++) {
                snprintf(text, sizeof(text), "%.*e", precision, d);
                if (strtod(text, NULL) == d)
                        break;
                if (!is_power)
                        continue;
                decimal_step_up(text);
                if (strtod(text, NULL) == d)
                        break;
        }
        return decimal_take(text, ret, ret_exp10);
}

int decimal_shortest(double d, char ret[static DECIMAL_DIGITS_MAX], int *ret_exp10) {
        double millionths;
        int n;

        d = fabs(d);
        millionths = round(d * 1e6);
        /* At most one text of up to 15 digits is read back as a given double (DBL_DIG): both ways find the shortest
         * digits. */
        if (millionths < 1e15 && millionths / 1e6 == d) {
                n = decimal_digits((uint64_t)millionths, ret);
                *ret_exp10 = n - 6;
        } else
                n = decimal_search(d, ret, ret_exp10);
        while (n > 1 && ret[n - 1] == '0')
                n--;
        ret[n] = 0;
        return n;
}
