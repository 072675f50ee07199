#include "tests/eval/domains/episode.h"

#include "tests/eval/domains/domain.h"
#include "tests/eval/domains/moves.h"

#include <errno.h>

static const Domain *const episode_domains[] = {&domain_it_operations, &domain_cybersecurity, &domain_healthcare,
                                                &domain_finance};

/* The order of topics: three turns of setup, then each topic in an order of its own, and topics by chance. */
static void episode_plan(Moves *m, Topic *plan, unsigned turns) {
        for (unsigned i = 0; i < turns; i++)
                plan[i] = i < 3                          ? TOPIC_SETUP
                          : i - 3 < (unsigned)TOPICS - 1 ? (Topic)(i - 2)
                                                         : (Topic)(1 + grammar_below(&m->grammar, TOPICS - 1));
        for (unsigned i = turns - 1; i > 3; i--) {
                unsigned k = 3 + grammar_below(&m->grammar, i - 2);
                Topic other = plan[i];

                plan[i] = plan[k];
                plan[k] = other;
        }
}

static int episode_play(Moves *m, uint64_t seed, unsigned turns, json_t **ret) {
        _cleanup_free_ Topic *plan = calloc(turns, sizeof(*plan));
        char id[96];

        if (!plan)
                return -ENOMEM;
        episode_plan(m, plan, turns);
        for (unsigned i = 0; i < turns; i++)
                moves_turn(m, plan[i], i + 1 == turns);
        if (m->failed < 0 || m->grammar.failed < 0)
                return -ENOMEM;
        snprintf(id, sizeof(id), "%s-%llu-%u", m->domain->name, (unsigned long long)seed, turns);
        *ret = json_pack("{s:s, s:s, s:[s], s:O}", "id", id, "domain", m->domain->name, "services",
                         m->domain->service, "turns", m->turns);
        return *ret ? 0 : -ENOMEM;
}

int episode_make(const char *domain, uint64_t seed, unsigned turns, json_t **ret) {
        size_t i = 0;
        Moves m;
        int r;

        while (i < ARRAY_SIZE(episode_domains) && strcmp(episode_domains[i]->name, domain) != 0)
                i++;
        if (i == ARRAY_SIZE(episode_domains))
                return 1;
        r = moves_init(&m, episode_domains[i], seed);
        r = r ?: episode_play(&m, seed, turns, ret);
        moves_deinit(&m);
        return r;
}
