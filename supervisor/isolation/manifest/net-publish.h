/* Runs: supervisor, CLI. Published ports: a port of the host that leads to a port of the region's loopback.
 *
 *   [ADDRESS:][HOST-PORT]:PORT  PORT    ADDRESS is numeric, an IPv6 address in brackets; without it 127.0.0.1. A
 *                                       HOST-PORT of 0, or none, is chosen by the kernel. "/tcp" may follow.
 *   ADDRESS:PORT  ADDRESS:FIRST-LAST    a row of a policy; 0 among the ports: chosen by the kernel */
#pragma once

#include "base/diag.h"
#include "base/util.h"

typedef struct NetPublish {
        uint8_t v6, addr[16]; /* of the host; IPv4: the first 4 bytes */
        uint16_t host_port;   /* 0: chosen by the kernel */
        uint16_t port;        /* of the region */
} NetPublish;

typedef struct NetPublishRange {
        uint8_t v6, addr[16];
        uint16_t first, last;
} NetPublishRange;

#define NET_PUBLISH_TEXT_MAX 80
/* Each returns 0, or TERMS_E_BAD with a message. */
int net_publish_parse(const char *text, NetPublish *ret, Diag *reterr);
int net_publish_range_parse(const char *text, NetPublishRange *ret, Diag *reterr);
/* ADDRESS:HOST-PORT:PORT */
const char *net_publish_format(const NetPublish *p, char out[static NET_PUBLISH_TEXT_MAX]);
bool net_publish_covers(const NetPublishRange *r, const NetPublish *p);
/* Granted without a policy: an address of loopback, and a port of 1024 or more, or one that the kernel chooses. */
bool net_publish_is_usual(const NetPublish *p);
