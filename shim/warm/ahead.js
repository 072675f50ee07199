'use strict';
// Runs in a node that was started in its region before it is known what it is to run: it stands as far as node comes without that, waits, and then
// goes on as `node FILE ARGUMENTS...` would. It is preloaded (-r), so that node itself runs the file, in the place of this one.
const fs = require('fs');
const { Module, builtinModules } = require('module');
const path = require('path');
const { isMainThread } = require('worker_threads');

const LIFELINE = 6;
const SPEC = 7;
const WORDS_MAGIC = 0x57304c4c;

// {argv, env} of a buffer (schema/launch.h).
function decode(bytes) {
        let at = 0;
        const number = () => bytes.readUInt32LE((at += 4) - 4);
        const text = () => {
                const n = number();
                at += n + 1;
                return bytes.toString('utf8', at - n - 1, at - 1);
        };
        const texts = () => Array.from({ length: number() }, text);

        if (number() !== WORDS_MAGIC)
                throw new Error('no words');
        text();
        return { argv: texts(), env: texts() };
}

function wait() {
        const take = Buffer.alloc(8);
        fs.writeSync(LIFELINE, 'w');
        if (fs.readSync(LIFELINE, take, 0, 8, null) !== 8)
                process.reallyExit(127);
        const words = Buffer.alloc(take.readUInt32LE(4));
        if (fs.readSync(SPEC, words, 0, words.length, take.readUInt32LE(0)) !== words.length)
                process.reallyExit(127);
        fs.closeSync(LIFELINE);
        fs.closeSync(SPEC);
        const told = decode(words);
        words.fill(0);
        return told;
}

function become({ argv, env }) {
        for (const name of Object.keys(process.env))
                delete process.env[name];
        for (const line of env) {
                const i = line.indexOf('=');
                process.env[line.slice(0, i)] = line.slice(i + 1);
        }
        const file = path.resolve(argv[1]);
        process.argv.splice(1, process.argv.length, file, ...argv.slice(2));
        process.execArgv.length = 0;
        return file;
}

// What node calls in the end is this property: it is given back at once, so that nothing of this is on the stack of what runs.
function runInstead(file) {
        const usual = Module.runMain;
        Object.defineProperty(Module, 'runMain', {
                configurable: true,
                enumerable: true,
                get() {
                        Object.defineProperty(Module, 'runMain', { configurable: true, enumerable: true, writable: true, value: usual });
                        return usual.bind(Module, file);
                },
        });
}

if (isMainThread) {
        for (const name of process.argv.slice(2))
                if (builtinModules.includes(name))
                        require(name);
        const file = become(wait());
        delete require.cache[__filename];
        runInstead(file);
}
