#include "store/wal.h"
#include "base/log.h"

#include <endian.h>
#include <string.h>

/* Detects a flipped bit or a foreign sector. The digest is the defence against deliberate changes. */
static uint64_t wal_head_checksum(const uint8_t *p, size_t n) {
        uint64_t h = 0x9E3779B97F4A7C15U ^ n;

        for (size_t i = 0; i + 8 <= n; i += 8) {
                uint64_t w;

                memcpy(&w, p + i, sizeof(w));
                h = (h ^ w) * 0xD6E8FEB86659FD93U;
                h ^= h >> 32;
        }
        return h;
}

uint64_t wal_head_sum(const WalHead *h) {
        WalHead copy = *h;

        memset(copy.sum, 0, sizeof(copy.sum));
        return wal_head_checksum((const uint8_t *)&copy, sizeof(copy));
}

bool wal_head_is_ours(const Store *s, const WalHead *h) {
        return memcmp(h->magic, WAL_MAGIC, sizeof(h->magic)) == 0 ||
               memcmp(h->store, s->public_key, sizeof(h->store)) == 0;
}

bool wal_head_is_whole(const WalHead *h) {
        return be64_get(h->version) == 1 || be64_get(h->sum) == wal_head_sum(h);
}

size_t wal_head_bytes(const WalHead *h) {
        return be64_get(h->version) == 1 ? WAL_HEAD_1 : sizeof(*h);
}

uint64_t wal_unit(uint64_t n) {
        uint64_t unit = WAL_SECTOR;

        while (unit * WAL_SUMS < n)
                unit *= 2;
        return unit;
}

void wal_sums(const uint8_t *p, uint64_t n, uint64_t unit, WalSums *sums, bool now) {
        for (uint64_t at = 0; at < n; at += unit, sums++) {
                uint32_t v = htobe32((uint32_t)wal_head_checksum(
                        p + at, MIN(unit, (n - at + WAL_SECTOR - 1) / WAL_SECTOR * WAL_SECTOR)));

                memcpy(now ? sums->now : sums->before, &v, sizeof(v));
        }
}

WalBroken wal_judge(const WalHead *h, const uint8_t *p, uint64_t n) {
        uint64_t unit = be64_get(h->unit);
        WalSums is[WAL_SUMS] = {0};
        WalBroken how = WAL_TORN;
        bool torn = false;

        if (be64_get(h->version) == 1)
                return WAL_UNKNOWN;
        if (unit != wal_unit(n))
                return WAL_DAMAGED;
        wal_sums(p, n, unit, is, true);
        for (uint64_t i = 0; i * unit < n; i++) {
                if (memcmp(is[i].now, h->sums[i].now, sizeof(is[i].now)) == 0)
                        continue;
                if (memcmp(is[i].now, h->sums[i].before, sizeof(is[i].now)) == 0)
                        torn = true;
                else if (unit == WAL_SECTOR)
                        return WAL_DAMAGED;
                else
                        how = WAL_UNKNOWN;
        }
        return how == WAL_TORN && !torn ? WAL_DAMAGED : how;
}

void wal_say_broken(Store *s, WalBroken how) {
        if (how == WAL_WHOLE || atomic_exchange(&s->said_broken, true))
                return;
        if (how == WAL_TORN)
                log_note("store %s: the newest record of file " WAL_FILE
                         " was torn while it was written; the commit was never acknowledged, and no data is lost",
                         s->dir);
        else if (how == WAL_DAMAGED)
                log_warning("store %s: a record of file " WAL_FILE
                            " was damaged after it was written: unless the tables have it already, an acknowledged "
                            "commit is lost; check the disk",
                            s->dir);
        else
                log_warning("store %s: a record of the next commit in file " WAL_FILE
                            " does not hold together: either the record was torn while it was written, and the "
                            "commit was never acknowledged, or the record was damaged later, and the commit is lost",
                            s->dir);
}
