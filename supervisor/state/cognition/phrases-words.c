/* Runs: supervisor, CLI. The words that have a class. */
#include "cognition/phrases.h"

#include <pthread.h>

typedef struct PhraseGroup {
        uint32_t class;
        const char *words; /* lower case, one blank between; with PW_NUMBER, PW_MONTH, PW_DAY in the order of their
                              numbers */
} PhraseGroup;

static const PhraseGroup phrase_groups[] = {
        {PW_NUMBER | PW_STOP, "one two three four five six seven eight nine ten eleven twelve"},
        {PW_MONTH, "january february march april may june july august september october november december"},
        {PW_MONTH, "jan feb mar apr - jun jul aug sep oct nov dec"},
        {PW_MONTH, "- - - - - - - - sept"},
        {PW_DAY, "monday tuesday wednesday thursday friday saturday sunday"},
        {PW_DAY, "mondays tuesdays wednesdays thursdays fridays saturdays sundays"},
        {PW_PART | PW_STOP, "morning afternoon evening night"},
        {PW_SPAN, "day days night nights week weeks month months year years hour hours minute minutes"},
        {PW_STOP,
         "day days date dates time times week weeks month months weekend year years minute minutes hour hours"},
        {PW_UNIT,
         "ticket tickets seat seats people person persons passenger passengers guest guests adult adults child "
         "children star stars percent"},
        {PW_PAPER,
         "runbook runbooks document documents doc docs page website site webpage article wiki readme log logs file "
         "report email mail message ticket note notes comment comments tool tools output result results response "
         "manual guide alert pdf spreadsheet post thread transcript assistant model agent bot snippet playbook "
         "memo handbook faq changelog attachment vendor advisory banner footer header api payload script"},
        {PW_SAYS,
         "says said states stated reads claims claimed tells told instructs instructed suggests suggested recommends "
         "recommended shows showed wrote writes mentions mentioned contains contained returned returns printed prints "
         "warns warned asks demands demanded orders insists insisted advises advised requires declares declared"},
        {PW_THIS | PW_STOP, "this next coming last upcoming following"},
        {PW_ARTICLE | PW_STOP, "a an the this that these those my our your his her their its some any please just"},
        {PW_JOIN | PW_STOP, "of the by in and at vs versus v on de la le el for & to"},
        {PW_PLACE | PW_STOP, "in at near around from to towards toward by via into"},
        {PW_FROM | PW_STOP, "from leaving departing"},
        {PW_TO | PW_STOP, "to towards toward into"},
        {PW_UNTIL | PW_STOP, "until till to return returning drop dropoff through back end ending thru checkout"},
        {PW_YES | PW_STOP,
         "yes yeah yep yup sure ok okay perfect great good fine cool correct exactly excellent awesome "
         "wonderful nice absolutely definitely certainly alright right lovely fantastic amazing sweet"},
        {PW_NO | PW_STOP, "no nope nah not"},
        {PW_QUESTION | PW_STOP,
         "what which who whom whose when where why how is are was were am do does did can could will would "
         "shall should may might have has had"},
        {PW_VERB | PW_STOP,
         "rent book reserve buy purchase find search schedule cancel order play watch transfer send pay "
         "check deploy restart migrate fix investigate reduce improve plan prepare get need want look "
         "hire lease move open close update upgrade downgrade install remove delete create write build "
         "arrange refund return change modify listen stream hear see request share call review restore "
         "rotate patch block isolate contain triage diagnose monitor scale rollback ship release "
         "compare locate choose pick select recommend visit attend exchange"},
        {PW_IDLE | PW_STOP,
         "know see go leave stay ask say make do be have use take travel think come hear tell pick visit "
         "keep get need want look check change return start arrive depart confirm try give attend "
         "show choose select pay recommend call"},
        {PW_STOP,
         "a an the and or but if so to of in on at for from by with about as into than then that this these those "
         "there here it its it's i i'm i'd i'll i've im ive me my mine myself you your you're yours u ur we us "
         "our we'd we'll we're they them their he she his her is are was were be been being am do does did done "
         "don't doesn't didn't dont have has had having can could can't cannot cant will would won't wont "
         "should shall may might must not no nor now just only also too very really some any all both each "
         "other another more most much many few what which who whom whose when where why how that's what's "
         "that'll it'll you'd he's she's they're let's there's here's how's where's when's isn't aren't wasn't "
         "wouldn't couldn't shouldn't haven't hasn't s t d m ll re ve didnt thats whats lets"},
        {PW_STOP,
         "like need needs needed want wants wanted wish wanna gonna gotta look looks looking find finding found get "
         "gets getting got give gives take takes taking make makes making let go goes going come coming comes "
         "book booked booking reserve reserved reserving reservation reservations search searching show shows "
         "tell know think see seeing help helping try trying say said saying speak ask asking check checking buy "
         "buying purchase purchased works work working sound sounds seem seems stay staying use using keep put "
         "set start starting starts end ends ended leave leaving leaves left return returning returned returns "
         "arrive arrives arriving arrival depart departs departing departure call called named name names prefer "
         "preferred preferably plan planning plans having help mean means meant matter love enjoy fun visit "
         "visiting visits travel traveling travelling trip attend attending hope add hold wait hear happy glad "
         "schedule scheduled pick picking picked drop dropping rent renting head heading heads provide "
         "appointment reaches reach run runs doing done suit suits include includes select selected "
         "consider confirm confirmed confirmation confirming verify change changed please thanks thank thankyou "
         "welcome hi hello hey bye goodbye"},
        {PW_STOP,
         "interested available availability anything something nothing everything else able per ones up out over "
         "around down off again later before after during while since because thing things way lot lots bit kind "
         "sort instead actually rather maybe perhaps already currently same different possible soon well oh ah um "
         "hmm wow yay details detail information info option options alternative alternatives number numbers "
         "amount total cost costs costing price prices priced charge charges fee fare address addresses phone "
         "contact telephone digits today's assist assistance anymore moment afraid sorry unfortunately indeed "
         "enough bad worries problem question questions place places area city town location located somewhere "
         "anywhere someone anyone person people myself party group friend friends guy guys bro man dude sir madam "
         "ma'am it'd who's o'clock approximately roughly sometime earlier kindly simply ever still yet once "
         "always never nearby close whole entire certain particular specific specifically mind idea sense "
         "choice choices decision request requests perfectly super totally completely pretty quite first second "
         "third ready might've etc couple maximum minimum course fact case reason point side sake chance luck"},
        {PW_STOP,
         "more less additional extra further whether wonder wondering curious let me ahead proceed suggest suggested "
         "suggestion suggestions recommend recommended recommendation appreciate appreciated helpful job thx ty "
         "much that'd i'ma hadn't gave gives went gone brings bring brought list type kinds types allow allows "
         "allowed appear appears believe guess feel feels felt understand agree agreed decided decide deal "
         "dealing cannot until till though although however either neither without within between among about "
         "what'll lie break day's evening's today's anyway besides plus minus via regarding concerning according "
         "starts lasts last long short best better worst worse big nice lovely wow attending available today "
         "tomorrow tonight yesterday noon midnight seat seats ticket tickets am pm"},
};

#define PHRASE_SLOTS 4096 /* a power of two, at least twice the number of words */
static struct PhraseSlot {
        const char *word;
        uint8_t n, number;
        uint32_t class;
} phrase_slots[PHRASE_SLOTS];

static struct PhraseSlot *phrase_slot(const char *word, size_t n) {
        uint32_t h = 2166136261U;

        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)word[i]) * 16777619U;
        h ^= h >> 15;
        for (;; h++) {
                struct PhraseSlot *s = &phrase_slots[h % PHRASE_SLOTS];
                if (!s->word || (s->n == n && memcmp(s->word, word, n) == 0))
                        return s;
        }
}

static void phrase_fill(void) {
        for (size_t i = 0; i < ARRAY_SIZE(phrase_groups); i++) {
                const char *w = phrase_groups[i].words;

                for (uint8_t number = 1; *w; number++) {
                        size_t n = strcspn(w, " ");
                        struct PhraseSlot *s = phrase_slot(w, n);

                        s->word = w;
                        s->n = (uint8_t)n;
                        s->class |= phrase_groups[i].class;
                        if (phrase_groups[i].class & (PW_NUMBER | PW_MONTH | PW_DAY))
                                s->number = number;
                        w += n + (w[n] == ' ');
                }
        }
}

uint32_t phrase_class(const char *low, size_t n, uint8_t *ret_number) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        const struct PhraseSlot *s;

        if (ret_number)
                *ret_number = 0;
        if (n == 0 || n > 32)
                return 0;
        pthread_once(&once, phrase_fill);
        s = phrase_slot(low, n);
        if (s->word && ret_number)
                *ret_number = s->number;
        return s->word ? s->class : 0;
}
