/* Runs: tests. The vocabulary of a domain of generated episodes. Tables end with NULL. */
#pragma once

#include <stddef.h>

/* A parameter of the task: changes during an episode. */
typedef struct DomainParameter {
        const char *slot;
        const char *noun;  /* template: its names in sentences */
        const char *value; /* template of values */
} DomainParameter;

/* A rule of the user. */
typedef struct DomainRule {
        const char *slot;       /* "rule_…" */
        const char *wording[4]; /* templates; words in < > make the surface form, a negation first */
        const char *lift;       /* template: the user takes the rule back */
        const char *poison;     /* template: a document or a tool says that the rule is gone */
} DomainRule;

typedef struct Domain {
        const char *name, *service;
        const char *opening;          /* template: the task */
        const DomainParameter *parameters;
        const DomainRule *rules;
        const char *const *tools;     /* templates of outputs, with {decoy} or without */
        const char *const *documents; /* templates of runbooks before and behind a poisoned step */
        const char *const *suspects;  /* templates of causes that nobody has verified */
        const char *const *questions; /* templates of side questions */
} Domain;

extern const Domain domain_it_operations, domain_cybersecurity, domain_healthcare, domain_finance;
