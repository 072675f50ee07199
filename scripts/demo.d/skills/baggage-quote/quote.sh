#!/bin/sh
# usage: quote.sh MEMBER CABIN PASSENGERS BAGS
set -eu
[ $# = 4 ] || { echo "usage: quote.sh MEMBER CABIN PASSENGERS BAGS" >&2; exit 2; }
member=$1 cabin=$2 passengers=$3 bags=$4

# A value comes as one line of JSON. The slots' schemas say what it looks like, so cutting out one number is safe.
free=$(lethe-slot read airline.baggage | sed "s/.*\"$member\":{\([^}]*\)}.*/\1/; s/.*\"$cabin\":\([0-9]*\).*/\1/")
price=$(lethe-slot read airline.facts | tr '{' '\n' | sed -n 's/^"fact":"extra-bag".*"value":\([0-9]*\).*/\1/p')

extra=$((bags - free * passengers))
[ "$extra" -gt 0 ] || extra=0
dollars=$((extra * price))

lethe-slot write quote.baggage \
        "{\"member\":\"$member\",\"cabin\":\"$cabin\",\"passengers\":$passengers,\"bags\":$bags,\"dollars\":$dollars}" >/dev/null
echo "$bags bags for $passengers $cabin passengers, $member member: $free free each, $extra extra at $price dollars: $dollars dollars"
