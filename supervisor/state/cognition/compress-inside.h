/* Runs: supervisor, CLI. Inside of the built-in compressor: the state under construction. */
#pragma once

#include "cognition/compress-named.h"
#include "cognition/compress.h"
#include "cognition/phrases.h"
#include "cognition/rules.h"

#define COMPRESS_ENTITIES 64 /* while a turn is read; 24 remain */
#define COMPRESS_OFFERS 8
#define COMPRESS_THINGS 6  /* entities of type thing kept, plain words and names apart */
#define COMPRESS_NAMED 3  /* with so many named parameters, values without a name count little */
#define COMPRESS_LOOSE 2  /* values without a name kept then */
#define COMPRESS_TAKEN 4
#define COMPRESS_HYPOTHESES 2 /* the newest */

typedef struct CompressEntity {
        char type[ATOM_NAME_MAX + 1];
        char id[ATOM_MAX + 1];
        char norm[ATOM_MAX + 1]; /* phrase_norm() of the id */
        PhraseForm form;         /* of the id */
        PhraseType kind;         /* of the type; PHRASE_TYPES: a named parameter */
        bool fresh;              /* said or confirmed in this turn */
} CompressEntity;

typedef struct CompressOffer {
        PhraseType type;
        char id[PHRASE_ID_MAX];
} CompressOffer;

typedef struct CompressSpan {
        size_t at, end; /* words */
} CompressSpan;

typedef struct Compress {
        const CompressInput *in;
        Ccs next;
        CompressReport *report;
        PhraseText user, decision;
        CompressEntity entity[COMPRESS_ENTITIES];
        size_t n_entities;
        CompressOffer offer[COMPRESS_OFFERS];
        size_t n_offers;
        unsigned fresh;                                   /* 1 << PhraseType of words of the user */
        unsigned conflicts;                               /* refused changes */
        unsigned set;                                     /* named parameters of the turn */
        bool accepts, rejects, others, revises;           /* the user */
        bool confirms, regrets, proposes, answers, asked; /* the agent, the turn before */
        bool begins;                                      /* a role is read: goals by name only */
        int failed; /* -ENOMEM of constraint_follow() */
        bool asks, goal_new, accepted;
        char conflict[RULE_BODY_MAX + 1];
        char request[RULE_BODY_MAX + 1]; /* what the turn alone asks for: the gist */
        char no_room[RULE_BODY_MAX + 8]; /* a rule or goal beyond the number that a state holds */
        CompressSpan taken[COMPRESS_TAKEN]; /* corrections of parameters */
        size_t n_taken;
        char hypothesis[COMPRESS_HYPOTHESES][ATOM_MAX + 1];
        size_t n_hypotheses;
        char step[ATOM_MAX + 1]; /* the next */
        char lifted[ATOM_MAX + 1];       /* the constraint that this input removed last */
} Compress;

void compress_event(Compress *c, CompressAct act, CcsField f, const char *atom, const char *reason);
/* name(arg, arg) at the end of a list; an atom against grammar or field is left out. Returns 0, -ENOMEM.
 */
int compress_add(Compress *c, CcsField f, const char *name, const char *const *args, size_t n_args);

/* compress-entity.c: entities and offers. */
int compress_load(Compress *c);
int compress_store(Compress *c);
/* Types of one kind can stand for one another. */
unsigned entity_kin(PhraseType t);
static inline PhraseType entity_type(const CompressEntity *e) {
        return e->kind;
}
void entity_remove(Compress *c, size_t at);
/* After a change of type or id. */
void entity_renamed(CompressEntity *e);
void entity_append(Compress *c, const char *type, const char *id);
/* The place of the entity with the same meaning, or n_entities. */
size_t entity_find(const Compress *c, PhraseType type, const char *id);
/* Removes the entity, with an event. */
void entity_drop(Compress *c, size_t at, const char *reason);
/* Named parameters in the state so far. */
size_t entity_named(const Compress *c);
/* compress-bind.c: named parameters of the input. The words of a parameter say nothing else afterwards. */
void compress_bind(Compress *c);
/* compress-revise.c: values without a noun in the place of earlier values. guess: in sentences without the earlier value. */
void compress_revise(Compress *c, bool guess);
/* Behind compress_bind(), which may find a new noun for the value: the words of corrections state no rule. */
void compress_revised(Compress *c);
/* compress-cues.c: hypothesis and next step, of both texts and the state before. Return 0, -ENOMEM. */
int compress_cues(Compress *c);
int compress_cues_store(Compress *c);
/* compress-limits.c: new numbers of limits. */
void compress_limits(Compress *c);
/* compress-talk.c: values said, offered, accepted. */
void compress_talk(Compress *c);
/* compress-rules.c: a bound with a number: "at most 5", "under $500". */
bool constraint_limits(const char *body);
/* compress-goals.c: adds a goal. Returns 0, -ENOMEM. */
int compress_goal(Compress *c, const Rule *r, CompressSource source);
/* Removes the goal that the words mean, or refuses. false: none is meant. */
bool compress_goal_drop(Compress *c, const Rule *r, CompressSource source);
/* compress-meant.c: constraints by their place in the state so far, SIZE_MAX: none. Source and words of a canonical
 * constraint; false: another form. */
bool constraint_read(const char *atom, CompressSource *ret_source, char *body, size_t n_body);
/* Words about rules, not about the matter. */
bool constraint_about_rules(const char *body, bool *ret_limit);
/* The constraint meant by the words, of the highest score; the newest of equals. */
size_t constraint_meant(const Compress *c, const char *body, bool exact);
/* The prohibition lifted by a permission: the permission has nearly all its words, and few others. More words make an
 * exception: "you may share samples with Anna after five". */
size_t constraint_permitted(const Compress *c, const char *body);
/* The constraint of words that lift: "forget the layout rule", "no need to ask any more". */
size_t constraint_given_up(const Compress *c, const char *body);
/* The only constraint with at least half of the few words of the body. */
size_t constraint_hinted(const Compress *c, const char *body);
/* compress-rules.c: a constraint with new words, when the source has enough rank. Returns 0, -ENOMEM. */
int constraint_rewrite(Compress *c, size_t at, CompressSource source, const char *body);
/* compress-rules.c: a constraint of the user's that states the old value ("deadline is Thursday") follows. */
void constraint_follow(Compress *c, const char *old, const char *value);
/* Constraints and goals of the input. */
int compress_rules(Compress *c, const PhraseText *t, CompressSource source);
