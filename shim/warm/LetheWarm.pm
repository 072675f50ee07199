# Runs in a warm perl: loads what the manifest names, then goes on in each region that is forked from it as `perl FILE ARGUMENTS...` would. The one line of
# warm.pl is all that perl has read of its script by then; from here on it reads the skill's file instead, so that it is the main program in all.
package LetheWarm;

# Modules come from the folders that the first argument names: root alone can write them. The skill has all of perl's again.
my @inc;
BEGIN {
    my %named = map { $_ => 1 } split /:/, shift @ARGV;
    @inc = @INC;
    @INC = grep { $named{$_} } @INC;
}
use Filter::Util::Call ();
use POSIX ();

my ($words_fd, $lifeline, $spec) = (5, 6, 7);    # schema/launch.h, worker/warm.c

# The descriptor that perl reads its script from.
sub script_fd {
    my @script = stat $0;
    for my $fd (3 .. 63) {
        open(my $copy, '<&', $fd) or next;
        my @it = stat $copy;
        return $fd if $it[0] == $script[0] && $it[1] == $script[1];
    }
    POSIX::_exit(127);
}

sub read_all {
    my ($fd, $want) = @_;
    my $all = '';
    while ($want > 0 && (POSIX::read($fd, my $part, $want) // 0) > 0) {    # 0 is "0 but true"
        $all .= $part;
        $want -= length $part;
    }
    return $all;
}

# Arguments and environment, both lists.
sub take_words {
    POSIX::lseek($words_fd, 0, 0);
    my $words = read_all($words_fd, 1 << 20);
    POSIX::lseek($words_fd, 0, 0);
    POSIX::write($words_fd, "\0" x length $words, length $words);
    POSIX::close($words_fd);
    my ($n, @all) = split /\0/, $words, -1;
    pop @all;
    return ([@all[0 .. $n - 1]], [@all[$n .. $#all]]);
}

sub wait_for_words {
    POSIX::write($lifeline, 'w', 1);
    my ($offset, $n) = unpack 'VV', read_all($lifeline, 8);
    POSIX::_exit(127) if !defined $n;
    POSIX::lseek($spec, $offset, 0);
    my $words = read_all($spec, $n);
    POSIX::close($lifeline);
    POSIX::close($spec);
    return ([unpack 'x4 V/x x V/(V/a x)', $words], [unpack 'x4 V/x x V/(V/x x) V/(V/a x)', $words]);
}

sub begin {
    my ($me, @modules) = ($^X, @ARGV);
    for my $name (@modules) {
        require(($name =~ s{::|\.}{/}gr) . '.pm');
    }
    my $script = script_fd();
    $ENV{LETHE_WARM} = 1;
    fork and POSIX::_exit(127);
    my ($argv, $env) = (POSIX::lseek($spec, 0, 1) // -1) >= 0 ? wait_for_words() : take_words();
    %ENV = map { split /=/, $_, 2 } @$env;
    my ($program, $file, @arguments) = @$argv;
    my $fd = $file =~ /["\n]/ ? undef : POSIX::open($file, POSIX::O_RDONLY());
    if (!defined $fd) {    # perl itself says why
        exec { $me } @$argv;
        POSIX::_exit(127);
    }
    if ($fd != $script) {
        POSIX::dup2($fd, $script);
        POSIX::close($fd);
    }
    open(my $handle, '<&=', $script);
    fcntl($handle, 2, 1);    # F_SETFD, FD_CLOEXEC
    close $handle;           # of two users of the descriptor the other one is left
    ($0, $^X, $^T, @ARGV) = ($file, $program, time, @arguments);
    @INC = @inc;
    srand;
    delete @INC{'/lethe/warm/LetheWarm.pm'};
    my $line = "#line 1 \"$file\"\n";
    Filter::Util::Call::real_import(sub {
        if (length $line) {
            ($_, $line) = ($line, '');
            return 1;
        }
        Filter::Util::Call::filter_del();
        my $read = Filter::Util::Call::filter_read();
        $! = 0;
        return $read;
    }, __PACKAGE__, 1);
    $! = 0;    # what an error ends with
}
1;
