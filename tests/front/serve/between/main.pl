# Runs in a region (tests/front/serve/between.py): leaves bytes wherever perl can, or says what it finds there.
use strict;
use List::Util ();
use POSIX qw(:signal_h :locale_h);
use Socket;
use JSON::PP ();
use Fcntl ':flock';

my ($way, $places) = @ARGV;
my @places = @{ JSON::PP::decode_json($places) };
my @held;

sub descriptors {
    return [map { my @st = POSIX::fstat($_); @st ? [$_, $st[2]] : () } 0 .. 599];
}

sub mask {
    my $old = POSIX::SigSet->new;
    sigprocmask(SIG_BLOCK, POSIX::SigSet->new, $old);
    return [grep { $old->ismember($_) } 1 .. 31];
}

sub waiting {
    my $set = POSIX::SigSet->new;
    POSIX::sigpending($set);
    return [grep { $set->ismember($_) } 1 .. 31];
}

sub hears {
    socket(my $s, AF_UNIX, SOCK_STREAM, 0) or return 'none';
    return connect($s, pack('S a*', AF_UNIX, "\0planted")) ? 0 : $! + 0;
}

sub locked {
    open(my $f, '<', '/usr/bin/env') or return 'none';
    return flock($f, LOCK_SH | LOCK_NB) ? 0 : $! + 0;
}

my $zeros = "\0" x 32;
my %looks = (
    'package' => sub { no strict 'refs'; $List::Util::planted // 0 },
    'function' => sub { List::Util::sum(1, 2) },
    'loaded module' => sub { exists $INC{'Planted.pm'} ? 1 : 0 },
    'search path' => sub { (grep { $_ eq '/tmp/lib' } @INC) ? 1 : 0 },
    'environment' => sub { [sort grep { /^(PERL|LD_|GCONV|LOC|PLANTED)/ } keys %ENV] },
    'descriptors' => \&descriptors,
    'signals' => sub { $SIG{USR1} // '' },
    'signal mask' => \&mask,
    'waiting signals' => \&waiting,
    'timer' => sub { my $left = alarm 0; alarm $left; $left > 0 ? 1 : 0 },
    'umask' => sub { umask },
    'cwd' => sub { POSIX::getcwd() },
    'priority' => sub { getpriority(0, 0) },
    'locale' => sub { setlocale(LC_ALL) },
    'socket' => \&hears,
    'lock' => \&locked,
    'segment' => sub { defined shmget(0x706c616e, 8, 0) ? 1 : 0 },
    'time of a file' => sub { (stat '/skill/main.pl')[9] },
);

sub look {
    my %found = map { $_ => $looks{$_}->() } keys %looks;
    for my $path (@places) {
        my @st = stat $path;
        $found{$path} = @st ? [$st[7], $st[2]] : undef;
    }
    return \%found;
}

sub parents {
    my ($path) = @_;
    my $at = '';
    mkdir($at) for map { $at .= "/$_" } (split m{/}, $path)[1 .. ($path =~ tr{/}{}) - 1];
}

# What is there goes on, with a few bytes more.
sub put {
    my ($path, $text) = @_;
    my $before = '';
    parents($path);
    if (open(my $f, '<:raw', $path)) {
        local $/;
        $before = <$f>;
    }
    open(my $f, '>:raw', "$path.new") or return;
    print $f $before, $text;
    close $f;
    chmod 0755, "$path.new";
    rename "$path.new", $path;
}

sub plant {
    { no warnings; no strict 'refs'; $List::Util::planted = 1; *List::Util::sum = sub { 7 }; }
    put('/tmp/lib/Planted.pm', "1;\n");
    @ENV{qw(PERL5LIB PERL5OPT PLANTED)} = ('/tmp/lib', '-MPlanted', 'x');
    push @INC, '/tmp/lib';
    my ($r, $w) = POSIX::pipe();
    POSIX::dup2($r, 400);
    $SIG{USR1} = 'IGNORE';
    sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR2));
    kill 'USR2', $$;
    alarm 1000;
    umask 031;
    chdir '/tmp';
    POSIX::nice(1);
    setlocale(LC_CTYPE, setlocale(LC_CTYPE) eq 'C' ? 'C.UTF-8' : 'C');
    if (socket(my $s, AF_UNIX, SOCK_STREAM, 0)) {
        bind($s, pack('S a*', AF_UNIX, "\0planted")) and listen($s, 1);
        push @held, $s;
    }
    if (open(my $f, '<', '/usr/bin/env')) {
        flock($f, LOCK_EX | LOCK_NB);
        push @held, $f;
    }
    shmget(0x706c616e, 8, 01666);
    utime 5, 5, '/skill/main.pl';
    put($_, "# planted\n") for @places;
}

$| = 1;
plant() if $way eq 'plant' || $way eq 'both';
if ($way eq 'plant') {
    print "planted\n";
    sleep 600;
}
my @all = (look());
if ($way ne 'look') {
    $^F = 600;
    open(my $child, '-|', '/usr/bin/perl', '/skill/main.pl', 'look', $places) or die;
    push @all, JSON::PP::decode_json(join '', <$child>)->[0];
}
print JSON::PP::encode_json(\@all), "\n";
