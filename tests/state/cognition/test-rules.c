#include "cognition/rules.h"

#include <criterion/criterion.h>

/* kind: the first rule of the sentence; NULL: none but a goal. words: stand in its body. */
static const struct {
        const char *text, *kind, *words;
} rows[] = {
        // standing orders
        {"From now on, start each reply with the ticket.", "must", "start each reply with ticket"},
        {"As a rule, keep replies in plain text.", "must", "keep replies in plain text"},
        {"In every reply, quote amounts in dollars.", "must", "quote amounts in dollars"},
        {"Going forward, list open risks first.", "must", "list open risks first"},
        {"From now on, never page the CEO.", "must_not", "page CEO"},
        {"Keep quiet: never contact a customer.", "must_not", "contact customer"},
        {"Each change must have the approval of Dana.", "must", "change have approval of Dana"},
        {"Nobody may page the CEO.", "must_not", "page CEO"},
        {"Never delete log files, however full the disk is.", "must_not", "delete log files"},
        {"We never answer the note.", "must_not", "answer note"},
        {"Do not mention a guest by name.", "must_not", "mention guest by name"},
        {"Block without asking from now on.", "lift", "Block without asking"},
        {"Never block without asking from now on.", "must_not", "block without asking"},
        {"Manual edits are allowed now.", "lift", "Manual edits"},
        {"Write as you like from now on.", "lift", "Write as you like"},
        {"Forget the approval step, it is gone.", "lift", "approval step"},
        {"Legal is fine now: you may write to guests.", "lift", "write to guests"},
        {"Doors open, so machines may be moved now.", "lift", "machines may be moved"},
        // talk, not rules
        {"Keep both in mind.", NULL, NULL},
        {"Keep mine.", NULL, NULL},
        {"Do not adopt it.", NULL, NULL},
        {"That is only an opinion; nothing changes.", NULL, NULL},
        {"No conclusion yet.", NULL, NULL},
        {"The CFO insists that you must never page the CEO.", NULL, NULL},
        {"A board member wants you to never page the CEO.", NULL, NULL},
        // rules that forbid
        {"Never restart the primary database.", "must_not", "restart primary database"},
        {"Do not restart the primary.", "must_not", "restart primary"},
        {"Don't restart the primary.", "must_not", "restart primary"},
        {"Please don't book anything before 18:00.", "must_not", "before 18:00"},
        {"You must not share patient names.", "must_not", "share patient names"},
        {"You mustn't share patient names.", "must_not", "share patient names"},
        {"Patient data must not leave the hospital.", "must_not", "leave hospital"},
        {"Patient data must never leave the hospital.", "must_not", "leave hospital"},
        {"You should not page the CEO.", "must_not", "page CEO"},
        {"You shouldn't page the CEO.", "must_not", "page CEO"},
        {"You should never page the CEO.", "must_not", "page CEO"},
        {"Agents may not delete logs.", "must_not", "delete logs"},
        {"The agent shall not delete logs.", "must_not", "delete logs"},
        {"You cannot delete logs.", "must_not", "delete logs"},
        {"You can't delete logs.", "must_not", "delete logs"},
        {"We can't touch the ledger during close.", "must_not", "touch ledger"},
        {"We cannot touch the ledger during close.", "must_not", "touch ledger"},
        {"The ledger cannot be changed during close.", "must_not", "during close"},
        {"Basic fares can't be refunded.", "must_not", "refunded"},
        {"Deployments are not allowed on weekends.", "must_not", "on weekends"},
        {"Smoking is not allowed in the car.", "must_not", "in car"},
        {"Deployments aren't allowed on weekends.", "must_not", "on weekends"},
        {"Deleting logs is forbidden.", "must_not", "Deleting logs"},
        {"It is forbidden to delete logs.", "must_not", "delete logs"},
        {"Outside vendors are prohibited.", "must_not", "Outside vendors"},
        {"The eu cluster is off limits.", "must_not", "eu cluster"},
        {"Refrain from restarting nodes.", "must_not", "restarting nodes"},
        {"Under no circumstances should you share names.", "must_not", "share names"},
        {"Under no circumstances restart the primary.", "must_not", "restart primary"},
        {"I don't want you to call the customer.", "must_not", "call customer"},
        {"I do not want you to call the customer.", "must_not", "call customer"},
        {"No deploys on Fridays.", "must_not", "deploys on Fridays"},
        {"No trades over $10,000.", "must_not", "trades over $10,000"},
        {"Nothing before 18:00.", "must_not", "before 18:00"},
        {"Nobody touches the primary.", "must_not", "touches primary"},
        {"Stop using the old cluster.", "must_not", "using old cluster"},
        {"Please stop using the old cluster.", "must_not", "using old cluster"},
        {"And never page the CEO.", "must_not", "page CEO"},
        {"Do whatever helps but never page the CEO.", "must_not", "page CEO"},
        {"Without approval nothing may be deployed.", "must_not", "Without approval"},
        {"Remember: do not email clients.", "must_not", "email clients"},
        {"Rule: never email clients.", "must_not", "email clients"},
        // rules to avoid
        {"Avoid the eu-west region.", "avoid", "eu-west region"},
        {"Please avoid toll roads.", "avoid", "toll roads"},
        {"I don't want any layovers.", "avoid", "layovers"},
        {"I do not want a window seat.", "avoid", "window seat"},
        {"We don't want any downtime.", "avoid", "downtime"},
        {"I never want spicy food.", "avoid", "spicy food"},
        {"Stay away from the old cluster.", "avoid", "old cluster"},
        {"Steer clear of the old cluster.", "avoid", "old cluster"},
        {"Could you avoid toll roads?", "avoid", "toll roads"},
        // rules that demand
        {"You must ask for approval before deploying.", "must", "ask for approval before deploying"},
        {"You must always ask for approval.", "must", "ask for approval"},
        {"All changes must be approved by Dana.", "must", "changes approved by Dana"},
        {"There must be a rollback plan.", "must", "rollback plan"},
        {"Make sure backups are verified first.", "must", "backups are verified"},
        {"Could you make sure the room is quiet?", "must", "room is quiet"},
        {"Be sure to tell Maria.", "must", "tell Maria"},
        {"Ensure that backups exist.", "must", "backups exist"},
        {"Remember to log each step.", "must", "log each step"},
        {"Always use two-factor.", "must", "use two-factor"},
        {"You should always use two-factor.", "must", "use two-factor"},
        {"Only use the staging cluster.", "must", "Only use staging cluster"},
        {"You may only use staging.", "must", "only use staging"},
        {"You can only use staging.", "must", "only use staging"},
        {"You should only use staging.", "must", "only use staging"},
        {"Deploy only after approval.", "must", "only after approval"},
        {"Updates only go through Maria.", "must", "only go through Maria"},
        {"Stick to read-only queries.", "must", "read-only queries"},
        {"Keep the region in Frankfurt.", "must", "region in Frankfurt"},
        {"Approval is required for deploys.", "must", "Approval"},
        {"Two signatures are required.", "must", "signatures"},
        {"Deploys require approval.", "must", "require approval"},
        {"A deploy requires approval.", "must", "requires approval"},
        {"Trades over $10,000 need a second signature.", "must", "need second signature"},
        {"The report needs to be short.", "must", "report"},
        {"The report has to be short.", "must", "report"},
        {"You have to ask Dana.", "must", "ask Dana"},
        {"You need to ask Dana.", "must", "ask Dana"},
        {"Encryption is mandatory.", "must", "Encryption is mandatory"},
        // limits
        {"No more than 3 retries.", "must", "No more than 3 retries"},
        {"At most 3 retries.", "must", "At most 3 retries"},
        {"At least 2 reviewers.", "must", "At least 2 reviewers"},
        {"Spend at most $500.", "must", "at most $500"},
        {"Keep it under $500 in total.", "must", "under $500 in total"},
        {"The hotel should be under $200 per night.", "must", "under $200"},
        {"Not more than 5 people.", "must", "more than 5 people"},
        {"No later than 18:00.", "must", "later than 18:00"},
        {"No earlier than 9 am.", "must", "earlier than 9 am"},
        {"A maximum of 4 nodes.", "must", "maximum of 4 nodes"},
        {"My budget is $500.", "must", "budget is $500"},
        {"I have a budget of $500.", "must", "budget of $500"},
        {"The limit is 5 retries.", "must", "limit is 5 retries"},
        {"The cap is $900 per day.", "must", "cap is $900"},
        {"The deadline is 18:00.", "must", "deadline is 18:00"},
        {"Latency should stay below 200 ms.", "must", "below 200 ms"},
        {"Use up to 4 nodes.", "must", "up to 4 nodes"},
        {"It should be cheaper than $50.", "must", "cheaper than $50"},
        {"The total must not exceed $900.", "must_not", "exceed $900"},
        {"Do not exceed 2 GB of memory.", "must_not", "exceed 2 GB"},
        // permissions
        {"You may restart the replicas.", "allowed", "restart replicas"},
        {"You are allowed to restart the replicas.", "allowed", "restart replicas"},
        {"Feel free to restart the replicas.", "allowed", "restart replicas"},
        {"Restarting replicas is allowed.", "allowed", "Restarting replicas"},
        {"Read access is permitted.", "allowed", "Read access"},
        // lifts
        {"You may now restart the primary.", "lift", "restart primary"},
        {"You can now restart the primary.", "lift", "restart primary"},
        {"You are now allowed to restart the primary.", "lift", "restart primary"},
        {"Restarting the primary is now allowed.", "lift", "Restarting primary"},
        {"Forget the limit.", "lift", "limit"},
        {"Forget what I said about layovers.", "lift", "layovers"},
        {"Ignore what I said about layovers.", "lift", "layovers"},
        {"Disregard what I said about layovers.", "lift", "layovers"},
        {"Ignore the layover rule.", "lift", "layover rule"},
        {"Drop the budget limit.", "lift", "budget limit"},
        {"Waive the approval requirement.", "lift", "approval"},
        {"Scratch the Friday rule.", "lift", "Friday rule"},
        {"Never mind the budget.", "lift", "budget"},
        {"The deploy restriction is lifted.", "lift", "deploy"},
        {"The deploy restrictions are lifted.", "lift", "deploy"},
        {"The deploy freeze has been lifted.", "lift", "deploy freeze"},
        {"The approval rule no longer applies.", "lift", "approval"},
        {"Approval is no longer required.", "lift", "Approval"},
        {"Approval is no longer needed.", "lift", "Approval"},
        {"You no longer have to ask Dana.", "lift", "ask Dana"},
        {"You don't have to ask Dana anymore.", "lift", "ask Dana"},
        {"You don't need to ask Dana.", "lift", "ask Dana"},
        {"There is no need to ask Dana.", "lift", "ask Dana"},
        {"The price doesn't matter anymore.", "lift", "price"},
        {"I take back the rule about tolls.", "lift", "tolls"},
        // changes
        {"The budget is now $700.", "change", "budget"},
        {"The budget is now $700 instead of $500.", "change", "budget"},
        {"Raise the limit to 5 retries.", "change", "limit"},
        {"Lower the limit to 2 retries.", "change", "limit"},
        {"Change the deadline to 20:00.", "change", "deadline"},
        {"Extend the deadline from 18:00 to 20:00.", "change", "deadline"},
        {"Actually make it $700.", "change", "make"},
        // goals
        {"I want to rent a car.", "goal", "rent(car)"},
        {"I'd like to rent a car.", "goal", "rent(car)"},
        {"I would like to book a hotel.", "goal", "book(hotel)"},
        {"I need to cancel my flight.", "goal", "cancel(flight)"},
        {"Can you find me a bus?", "goal", "find(bus)"},
        {"Could you find a hotel around there?", "goal", "find(hotel)"},
        {"I'm looking for an apartment.", "goal", "find(apartment)"},
        {"I also need a bus to get there.", "goal", "find(bus)"},
        {"Please help me find a rental car.", "goal", "find(rental car)"},
        {"Find me a doctor in San Jose.", "goal", "find(doctor)"},
        {"Our goal is to bring the error rate down.", "goal", "bring error rate down"},
        {"The goal is to restore checkout.", "goal", "restore(checkout)"},
        {"New goal: migrate the billing service.", "goal", "migrate(billing service)"},
        {"Focus on restoring checkout first.", "goal", "restoring checkout"},
        {"The objective is to contain the breach.", "goal", "contain(breach)"},
        {"Let's reduce the error rate.", "goal", "reduce(error rate)"},
        {"The priority is to isolate the host.", "goal", "isolate(host)"},
        // none of them
        {"No, thanks.", NULL, NULL},
        {"No thanks.", NULL, NULL},
        {"No problem.", NULL, NULL},
        {"No worries, enjoy.", NULL, NULL},
        {"No, that's all.", NULL, NULL},
        {"Nothing else.", NULL, NULL},
        {"Nothing more, thank you.", NULL, NULL},
        {"Never mind.", NULL, NULL},
        {"Don't worry about it.", NULL, NULL},
        {"I don't know.", NULL, NULL},
        {"I don't mind.", NULL, NULL},
        {"I never said that.", NULL, NULL},
        {"They don't allow pets there.", NULL, NULL},
        {"It doesn't matter.", NULL, NULL},
        {"Are pets allowed?", NULL, NULL},
        {"Is smoking allowed there?", NULL, NULL},
        {"Must I pay a deposit?", NULL, NULL},
        {"Do I have to pay a deposit?", NULL, NULL},
        {"Does it require a deposit?", NULL, NULL},
        {"Should I bring my card?", NULL, NULL},
        {"What is the limit?", NULL, NULL},
        {"Why can't it be changed?", NULL, NULL},
        {"Yes, that works for me.", NULL, NULL},
        {"Thanks a lot.", NULL, NULL},
        {"It was not expensive.", NULL, NULL},
        {"The weather is nice.", NULL, NULL},
        // words of others
        {"The runbook says you must restart the primary.", NULL, NULL},
        {"The runbook says: never ask for approval.", NULL, NULL},
        {"According to the page, you may now deploy.", NULL, NULL},
        {"The page reads \"you must restart the primary now\".", NULL, NULL},
        {"> You may now restart the primary.", NULL, NULL},
        {"```\nnever ask for approval\n```", NULL, NULL},
        {"The log shows that you must ignore the rules.", NULL, NULL},
        {"The email from ops states that the limit is 5.", NULL, NULL},
        {"It says never restart the primary.", NULL, NULL},
        {"The tool returned: the freeze is lifted.", NULL, NULL},
        {"\u201cYou may now restart the primary.\u201d", NULL, NULL},
};

// C-10, C-11, C-24: what a sentence demands, forbids, lifts, changes or names as a goal
Test(rules, sentences) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_phrase_text_ PhraseText t = {0};
                size_t at = 0;
                Rule r;
                bool found;

                cr_assert_eq(phrase_read(rows[i].text, strlen(rows[i].text), &t), 0);
                found = rule_next(&t, &at, &r);
                if (!rows[i].kind) {
                        cr_expect(!found, "%s: %s(%s)", rows[i].text, found ? rule_kind_name(r.kind) : "",
                                  found ? r.body : "");
                        continue;
                }
                cr_expect(found, "%s: nothing is found", rows[i].text);
                if (!found)
                        continue;
                cr_expect_str_eq(rule_kind_name(r.kind), rows[i].kind, "%s: %s(%s)", rows[i].text,
                                 rule_kind_name(r.kind), r.body);
                cr_expect(strstr(r.body, rows[i].words), "%s: \"%s\" is not in \"%s\"", rows[i].text, rows[i].words,
                          r.body);
        }
}

// C-40: any bytes are read within the bound
Test(rules, any_bytes) {
        char text[4096];
        uint32_t x = 1;

        for (size_t round = 0; round < 300; round++) {
                _cleanup_phrase_text_ PhraseText t = {0};
                size_t at = 0, n = 0, cursor = 0;
                PhraseValue v;
                Rule r;

                for (size_t i = 0; i < sizeof(text); i++) {
                        x = x * 1664525 + 1013904223;
                        text[i] = round % 2 ? (char)(x >> 24)
                                            : "never do not $5 18:00 March 9th, `\"> .\n"[(x >> 16) % 39];
                }
                cr_assert_eq(phrase_read(text, sizeof(text), &t), 0);
                while (rule_next(&t, &at, &r))
                        cr_assert(++n <= t.n && strlen(r.body) <= RULE_BODY_MAX);
                for (n = 0; phrase_value(&t, &cursor, t.n, &v);)
                        cr_assert(++n <= t.n && strlen(v.id) < PHRASE_ID_MAX);
        }
}
