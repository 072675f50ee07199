BEGIN { require "/lethe/warm/LetheWarm.pm"; LetheWarm::begin() }
