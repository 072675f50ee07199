'use strict';
// Runs in a region (tests/front/serve/between.py): leaves bytes wherever node can, or says what it finds there.
const child = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const path = require('path');

const [, , way, text] = process.argv;
const places = JSON.parse(text);

function umask() {
        const old = process.umask(0);
        process.umask(old);
        return old;
}

function descriptors() {
        const found = [];
        for (let fd = 0; fd < 600; fd++)
                try {
                        const s = fs.fstatSync(fd);
                        if (fd < 5 || s.isFile()) // node's own are pipes, sockets and epolls, in numbers that vary
                                found.push([fd, s.mode]);
                } catch {}
        return found;
}

const looks = {
        'global': () => globalThis.planted ?? null,
        'prototype': () => ({}).inherited ?? null,
        'module': () => crypto.planted ?? null,
        'shared memory': () => globalThis.shared ? Atomics.load(globalThis.shared, 0) : 0,
        'loaded module': () => globalThis.loaded ?? null,
        'search path': () => require('module').globalPaths.includes('/tmp/lib'),
        'environment': () => Object.keys(process.env).filter(k => /^(NODE_OPTIONS|LD_|PLANTED|UV_|NODE_EXTRA)/.test(k)).sort(),
        'options': () => process.execArgv,
        'descriptors': descriptors,
        'timer': () => process.getActiveResourcesInfo().filter(x => x === 'Timeout').length,
        'signals': () => process.listenerCount('SIGUSR2'),
        'umask': umask,
        'cwd': () => process.cwd(),
        'priority': () => os.getPriority(),
        'title': () => process.title,
        'time of a file': () => Math.trunc(fs.statSync('/skill/main.js').mtimeMs / 1000),
};

function look() {
        const found = {};
        for (const [name, fn] of Object.entries(looks))
                try { found[name] = fn(); } catch (e) { found[name] = e.code ?? String(e); }
        for (const place of places)
                try { const s = fs.statSync(place); found[place] = [s.size, s.mode]; } catch { found[place] = null; }
        return found;
}

// What is there goes on, with a few bytes more.
function put(place, words) {
        fs.mkdirSync(path.dirname(place), { recursive: true });
        const before = fs.existsSync(place) ? fs.readFileSync(place) : Buffer.alloc(0);
        fs.writeFileSync(place + '.new', Buffer.concat([before, Buffer.from(words)]), { mode: 0o755 });
        fs.renameSync(place + '.new', place);
}

const plants = [
        () => { globalThis.planted = 1; Object.prototype.inherited = 1; crypto.planted = 1; },
        () => { globalThis.shared = new Int32Array(new SharedArrayBuffer(8)); Atomics.store(globalThis.shared, 0, 7); },
        () => { put('/tmp/lib/planted.js', 'globalThis.loaded = 1;\n'); process.env.NODE_OPTIONS = '--require=/tmp/lib/planted.js'; process.env.NODE_PATH = '/tmp/lib'; process.env.PLANTED = 'x'; },
        () => { process.execArgv.push('--planted'); },
        () => { put('/tmp/held', 'x'); fs.openSync('/tmp/held'); },
        () => { setTimeout(() => {}, 600000); },
        () => { process.on('SIGUSR2', () => {}); },
        () => process.umask(0o31), () => process.chdir('/tmp'), () => os.setPriority(os.getPriority() + 1), () => { process.title = 'planted'; },
        () => fs.utimesSync('/skill/main.js', 5, 5),
        ...places.map(place => () => put(place, '# planted\n')),
];

if (way === 'plant' || way === 'both')
        for (const fn of plants)
                try { fn(); } catch {}
if (way === 'plant') {
        fs.writeSync(1, 'planted\n');
} else {
        const all = [look()];
        if (way !== 'look') {
                const p = child.spawnSync(process.execPath, [__filename, 'look', text]);
                all.push(JSON.parse(p.stdout)[0]);
        }
        fs.writeSync(1, JSON.stringify(all) + '\n');
        process.exit(0);
}
