import { homedir } from 'node:os'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { stopwatch } from '../../../test/support/measuring.ts'
import type { RepairAction } from '../../kernel/repair-action.ts'
import { type Ended, explainExit } from './explain-exit.ts'

interface Output {
  readonly title: string
  readonly run?: string
  readonly exit?: number
  readonly stderr: string
  readonly code: string
  /** The part of the message after the exit code. */
  readonly quote: string
  readonly hint: string
}

/** Output of real programs, with other paths and hosts. Long stacks are shortened. */
const PRODUCED: readonly Output[] = [
  {
    title: 'a missing script',
    run: 'node /home/me/server/missing.js',
    stderr: `
node:internal/modules/cjs/loader:1210
  throw err;
  ^
Error: Cannot find module '/home/me/server/missing.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error: Cannot find module '/home/me/server/missing.js'`,
    hint: 'Check the path /home/me/server/missing.js in args, or build the project that creates this file',
  },
  {
    title: 'a missing script with a relative path, run by tsx',
    run: 'npx --yes tsx nosuch.ts',
    stderr: `
node:internal/modules/run_main:123
    triggerUncaughtException(
    ^
Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/me/server/nosuch.ts' imported from /home/me/server/
    at finalizeResolution (node:internal/modules/esm/resolve:283:11)
    at moduleResolve (node:internal/modules/esm/resolve:952:10)
    at Hooks.resolve (node:internal/modules/esm/hooks:306:30) {
  code: 'ERR_MODULE_NOT_FOUND',
  url: 'file:///home/me/server/nosuch.ts'
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/me/server/nosuch.ts' imported from /home/me/server/`,
    hint: 'Check the path /home/me/server/nosuch.ts in args, or build the project that creates this file',
  },
  {
    title: 'a missing dependency of require',
    run: 'node dep.cjs',
    stderr: `
node:internal/modules/cjs/loader:1210
  throw err;
  ^
Error: Cannot find module 'left-pad'
Require stack:
- /home/me/server/dep.cjs
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/home/me/server/dep.cjs' ]
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error: Cannot find module 'left-pad'`,
    hint: 'Run npm install in /home/me/server',
  },
  {
    title: 'a missing dependency of import',
    run: 'node dep.mjs',
    stderr: `
node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^
Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /home/me/server/dep.mjs
    at packageResolve (node:internal/modules/esm/resolve:873:9)
    at moduleResolve (node:internal/modules/esm/resolve:946:18)
    at ModuleJob._link (node:internal/modules/esm/module_job:168:49) {
  code: 'ERR_MODULE_NOT_FOUND'
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /home/me/server/dep.mjs`,
    hint: 'Run npm install in /home/me/server',
  },
  {
    title: 'a file of the package that was not built',
    run: 'node rel.mjs',
    stderr: `
node:internal/modules/esm/resolve:283
    throw new ERR_MODULE_NOT_FOUND(
          ^
Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/me/server/lib/x.js' imported from /home/me/server/rel.mjs
    at finalizeResolution (node:internal/modules/esm/resolve:283:11)
    at moduleResolve (node:internal/modules/esm/resolve:952:10)
    at ModuleJob._link (node:internal/modules/esm/module_job:168:49) {
  code: 'ERR_MODULE_NOT_FOUND',
  url: 'file:///home/me/server/lib/x.js'
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/me/server/lib/x.js' imported from /home/me/server/rel.mjs`,
    hint: 'Build or reinstall the package: its file /home/me/server/lib/x.js is missing',
  },
  {
    title: 'a missing module that args preload',
    run: 'node --import tsx x.ts',
    stderr: `
node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^
Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'tsx' imported from /home/me/server/
    at packageResolve (node:internal/modules/esm/resolve:873:9)
    at moduleResolve (node:internal/modules/esm/resolve:946:18)
    at runEntryPointWithESMLoader (node:internal/modules/run_main:141:19) {
  code: 'ERR_MODULE_NOT_FOUND'
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'tsx' imported from /home/me/server/`,
    hint: "Install tsx in the server's folder, or remove it from args",
  },
  {
    title: 'a native module that is not a library',
    run: 'node nat.cjs',
    stderr: `
node:internal/modules/cjs/loader:1661
  return process.dlopen(module, path.toNamespacedPath(filename));
                 ^
Error: /home/me/server/text.node: file too short
    at Module._extensions..node (node:internal/modules/cjs/loader:1661:18)
    at Module.load (node:internal/modules/cjs/loader:1266:32)
    at Module._load (node:internal/modules/cjs/loader:1091:12) {
  code: 'ERR_DLOPEN_FAILED'
}
Node.js v20.20.2`,
    code: 'native_module',
    quote: 'Error: /home/me/server/text.node: file too short',
    hint: 'Reinstall the package for this Node.js with install scripts allowed, or run npm rebuild in its folder',
  },
  {
    title: 'a native module for another system',
    run: 'node native.cjs',
    stderr: `
node:internal/modules/cjs/loader:1661
  return process.dlopen(module, path.toNamespacedPath(filename));
                 ^
Error: /home/me/server/rand.node: invalid ELF header
    at Module._extensions..node (node:internal/modules/cjs/loader:1661:18)
    at Module.load (node:internal/modules/cjs/loader:1266:32)
    at runScript (node:internal/process/execution:101:62) {
  code: 'ERR_DLOPEN_FAILED'
}
Node.js v20.20.2`,
    code: 'native_module',
    quote: 'Error: /home/me/server/rand.node: invalid ELF header',
    hint: 'Reinstall the package for this Node.js with install scripts allowed, or run npm rebuild in its folder',
  },
  {
    title: 'a native module for another Node version',
    run: 'node native.cjs',
    stderr: `
node:internal/modules/cjs/loader:1661
  return process.dlopen(module, path.toNamespacedPath(filename));
                 ^
Error: The module '/home/me/server/nm.node'
was compiled against a different Node.js version using
NODE_MODULE_VERSION 127. This version of Node.js requires
NODE_MODULE_VERSION 115. Please try re-compiling or re-installing
the module (for instance, using \`npm rebuild\` or \`npm install\`).
    at Module._extensions..node (node:internal/modules/cjs/loader:1661:18)
    at Module.load (node:internal/modules/cjs/loader:1266:32)
    at runScript (node:internal/process/execution:101:62) {
  code: 'ERR_DLOPEN_FAILED'
}
Node.js v20.20.2`,
    code: 'native_module',
    quote: `Error: The module '/home/me/server/nm.node' was compiled against a different Node.js version using NODE_MODULE_VERSION 127. This version of Node.js requires NODE_MODULE_VERSION 115. Please try re-compiling or re-installing the module (for instance, using \`npm rebuild\` or \`npm install\`).`,
    hint: 'Reinstall the package for this Node.js with install scripts allowed, or run npm rebuild in its folder',
  },
  {
    title: 'a native module that was never built, without the first lines of its error',
    run: 'node notes.cjs',
    stderr: `
 → /home/me/notes/node_modules/better-sqlite3/build/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/build/Debug/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/build/Release/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/out/Debug/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/Debug/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/out/Release/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/Release/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/build/default/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/compiled/20.20.2/linux/x64/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/addon-build/release/install-root/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/addon-build/debug/install-root/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/addon-build/default/install-root/better_sqlite3.node
 → /home/me/notes/node_modules/better-sqlite3/lib/binding/node-v115-linux-x64/better_sqlite3.node
    at bindings (/home/me/notes/node_modules/bindings/bindings.js:126:9)
    at new Database (/home/me/notes/node_modules/better-sqlite3/lib/database.js:48:64)
    at node:internal/main/eval_string:51:3 {
  tries: [
    '/home/me/notes/node_modules/better-sqlite3/build/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/build/Debug/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/build/Release/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/out/Debug/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/Debug/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/out/Release/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/Release/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/build/default/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/compiled/20.20.2/linux/x64/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/addon-build/release/install-root/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/addon-build/debug/install-root/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/addon-build/default/install-root/better_sqlite3.node',
    '/home/me/notes/node_modules/better-sqlite3/lib/binding/node-v115-linux-x64/better_sqlite3.node'
  ]
}
Node.js v20.20.2`,
    code: 'native_module',
    quote: '→ /home/me/notes/node_modules/better-sqlite3/lib/binding/node-v115-linux-x64/better_sqlite3.node',
    hint: 'Reinstall the package for this Node.js with install scripts allowed, or run npm rebuild in /home/me/notes',
  },
  {
    title: 'a port in use',
    run: 'node server.js',
    stderr: `
node:events:502
      throw er; // Unhandled 'error' event
      ^
Error: listen EADDRINUSE: address already in use :::3977
    at Server.setupListenHandle [as _listen2] (node:net:1908:16)
    at listenInCluster (node:net:1965:12)
Emitted 'error' event on Server instance at:
    at emitErrorNT (node:net:1944:8)
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  code: 'EADDRINUSE',
  errno: -98,
  syscall: 'listen',
  address: '::',
  port: 3977
}
Node.js v20.20.2`,
    code: 'port_in_use',
    quote: 'Error: listen EADDRINUSE: address already in use :::3977',
    hint: 'Stop the program that uses port 3977, or configure another port',
  },
  {
    title: 'a port in use, reported by Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
OSError: [Errno 98] Address already in use`,
    code: 'port_in_use',
    quote: 'OSError: [Errno 98] Address already in use',
    hint: 'Stop the program that uses the port, or configure another port',
  },
  {
    title: 'a privileged port',
    run: 'node server.js',
    stderr: `
node:events:502
      throw er; // Unhandled 'error' event
      ^
Error: listen EACCES: permission denied 0.0.0.0:80
    at Server.setupListenHandle [as _listen2] (node:net:1886:21)
    at listenInCluster (node:net:1965:12)
Emitted 'error' event on Server instance at:
    at emitErrorNT (node:net:1944:8)
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  code: 'EACCES',
  errno: -13,
  syscall: 'listen',
  address: '0.0.0.0',
  port: 80
}
Node.js v20.20.2`,
    code: 'permission_denied',
    quote: 'Error: listen EACCES: permission denied 0.0.0.0:80',
    hint: 'Use a port above 1023: port 80 is reserved for the system',
  },
  {
    title: 'a package that does not exist in the npm registry',
    run: 'npx -y @toolroom-does-not-exist/none',
    stderr: `
npm error code E404
npm error 404 Not Found - GET https://registry.example/@toolroom-does-not-exist%2fnone
npm error 404
npm error 404  The requested resource '@toolroom-does-not-exist/none@*' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_22_52_023Z-debug-0.log`,
    code: 'package_not_found',
    quote:
      'npm error code E404; npm error 404 Not Found - GET https://registry.example/@toolroom-does-not-exist%2fnone',
    hint: 'Check the package name in args: @toolroom-does-not-exist/none does not exist, or you have no access to it',
  },
  {
    title: 'a version that does not exist in the npm registry',
    run: 'npx is-number@99.0.0',
    stderr: `
npm error code ETARGET
npm error notarget No matching version found for is-number@99.0.0.
npm error notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_24_41_340Z-debug-0.log`,
    code: 'package_not_found',
    quote: 'npm error code ETARGET; npm error notarget No matching version found for is-number@99.0.0.',
    hint: 'Check the version in args: is-number@99.0.0 does not exist',
  },
  {
    title: 'an npm registry that refuses the connection',
    run: 'npx -y toolroom-x',
    stderr: `
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to https://registry.example/toolroom-x failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/node_modules/minipass-fetch/lib/index.js:130:14)
npm error     at ClientRequest.emit (node:events:524:28)
npm error     at process.processTicksAndRejections (node:internal/process/task_queues:83:21) {
npm error   code: 'ECONNREFUSED',
npm error   errno: 'ECONNREFUSED',
npm error   syscall: 'connect',
npm error   address: '127.0.0.1',
npm error   port: 1,
npm error   type: 'system'
npm error }
npm error
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: 'npm help config'
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_23_54_439Z-debug-0.log`,
    code: 'registry_unreachable',
    quote:
      'npm error code ECONNREFUSED; npm error FetchError: request to https://registry.example/toolroom-x failed, reason: connect ECONNREFUSED 127.0.0.1:1',
    hint: 'Check the network, the proxy and the package registry, then start it again',
  },
  {
    title: 'an npm registry whose host cannot be resolved',
    run: 'npx -y toolroom-x',
    stderr: `
npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error errno ENOTFOUND
npm error network request to https://registry.example/toolroom-x failed, reason: getaddrinfo ENOTFOUND nosuchhost.invalid
npm error network This is a problem related to network connectivity.
npm error network In most cases you are behind a proxy or have bad network settings.
npm error network
npm error network If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: 'npm help config'
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_23_54_884Z-debug-0.log`,
    code: 'registry_unreachable',
    quote:
      'npm error code ENOTFOUND; npm error network request to https://registry.example/toolroom-x failed, reason: getaddrinfo ENOTFOUND nosuchhost.invalid',
    hint: 'Check the network, the proxy and the package registry, then start it again',
  },
  {
    title: 'npm without network and cache',
    run: 'npx -y --offline toolroom-x',
    stderr: `
npm error code ENOTCACHED
npm error request to https://registry.example/toolroom-x failed: cache mode is 'only-if-cached' but no cached response is available.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_23_55_428Z-debug-0.log`,
    code: 'registry_unreachable',
    quote: `npm error code ENOTCACHED; npm error request to https://registry.example/toolroom-x failed: cache mode is 'only-if-cached' but no cached response is available.`,
    hint: 'Check the network, the proxy and the package registry, then start it again',
  },
  {
    title: 'an npm registry that requires a login',
    run: 'npx -y toolroom-x',
    stderr: `
npm error code E401
npm error Unable to authenticate, your authentication token seems to be invalid.
npm error To correct this please try logging in again with:
npm error   npm login
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_26_11_461Z-debug-0.log`,
    code: 'registry_refused',
    quote:
      'npm error code E401; npm error Unable to authenticate, your authentication token seems to be invalid.',
    hint: 'Run npm login, or correct the npm registry token in .npmrc',
  },
  {
    title: 'an npm registry that forbids access',
    run: 'npx -y toolroom-x',
    stderr: `
npm error code E403
npm error 403 403 Forbidden - GET https://registry.example/toolroom-x - no
npm error 403 In most cases, you or one of your dependencies are requesting a package version that is forbidden by your security policy, or on a server you do not have access to.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_26_11_963Z-debug-0.log`,
    code: 'registry_refused',
    quote: 'npm error code E403; npm error 403 403 Forbidden - GET https://registry.example/toolroom-x - no',
    hint: 'Run npm login, or correct the npm registry token in .npmrc',
  },
  {
    title: 'a library as the argument of npx',
    run: 'npx -y is-number@7.0.0',
    stderr: `
npm error could not determine executable to run
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_24_40_607Z-debug-0.log`,
    code: 'no_executable',
    quote: 'npm error could not determine executable to run',
    hint: 'Check the package in args: it has no program with that name, or is a library',
  },
  {
    title: 'npx without permission to install',
    run: 'npx --no cowsay',
    stderr: `
npm error npx canceled due to missing packages and no YES option: ["cowsay@1.6.0"]
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_25_48_402Z-debug-0.log`,
    code: 'needs_install',
    quote: 'npm error npx canceled due to missing packages and no YES option: ["cowsay@1.6.0"]',
    hint: 'Add -y before the package in args to let npx install it',
  },
  {
    title: 'an npm cache of another user',
    run: 'npx -y cowsay',
    stderr: `
npm error code EACCES
npm error syscall mkdir
npm error path /home/me/.npm/_cacache/tmp
npm error errno EACCES
npm error
npm error Your cache folder contains root-owned files, due to a bug in previous versions of npm which has since been addressed.
npm error
npm error To permanently fix this problem, please run:
npm error   sudo chown -R 1000:1000 "/home/me/.npm"
npm notice
npm notice New minor version of npm available! 11.19.1 -> 11.21.1
npm notice Changelog: https://github.com/npm/cli/releases/tag/v11.21.1
npm notice To update run: npm install -g npm@11.21.1
npm notice
npm error Log files were not written due to an error writing to the directory: /home/me/.npm/_logs
npm error You can rerun the command with \`--loglevel=verbose\` to see the logs in your terminal`,
    code: 'permission_denied',
    quote:
      'npm error code EACCES; npm error Your cache folder contains root-owned files, due to a bug in previous versions of npm which has since been addressed.',
    hint: 'Give your user access to /home/me/.npm/_cacache/tmp, or use another path',
  },
  {
    title: 'npm in a folder without package.json',
    run: 'npm start',
    exit: 254,
    stderr: `
npm error code ENOENT
npm error syscall open
npm error path /home/me/server/package.json
npm error errno -2
npm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/home/me/server/package.json'
npm error enoent This is related to npm not being able to find a file.
npm error enoent
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_24_48_315Z-debug-0.log`,
    code: 'file_not_found',
    quote: `npm error code ENOENT; npm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/home/me/server/package.json'`,
    hint: 'Set cwd to the folder that contains package.json',
  },
  {
    title: 'a script that is missing in package.json',
    run: 'npm run nosuch',
    stderr: `
npm error Missing script: "nosuch"
npm error
npm error To see a list of scripts, run:
npm error   npm run
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_36_59_345Z-debug-0.log`,
    code: 'bad_arguments',
    quote: 'npm error Missing script: "nosuch"',
    hint: 'Check nosuch in args, or set cwd to the folder whose package.json has this script',
  },
  {
    title: 'npm start with a failing script',
    run: 'npm start',
    stderr: `
node:internal/modules/cjs/loader:1210
  throw err;
  ^
Error: Cannot find module '/home/me/server/st/missing.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error: Cannot find module '/home/me/server/st/missing.js'`,
    hint: 'Build or reinstall the package: its file /home/me/server/st/missing.js is missing',
  },
  {
    title: 'a Node version that is too old for the package',
    run: 'npm install --engine-strict',
    stderr: `
npm error code EBADENGINE
npm error engine Unsupported engine
npm error engine Not compatible with your version of node/npm: eng@1.0.0
npm error notsup Not compatible with your version of node/npm: eng@1.0.0
npm error notsup Required: {"node":">=99"}
npm error notsup Actual:   {"node":"v20.20.2","npm":"11.19.1"}
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-15T05_24_42_726Z-debug-0.log`,
    code: 'node_too_old',
    quote:
      'npm error code EBADENGINE; npm error engine Not compatible with your version of node/npm: eng@1.0.0',
    hint: 'Use a newer Node.js: set command to the full path of its node or npx',
  },
  {
    title: 'a package that pip cannot find',
    run: 'pip install toolroom-does-not-exist-none',
    stderr: `
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7fbaec34a5d0>: Failed to establish a new connection: [Errno -2]
ERROR: Could not find a version that satisfies the requirement toolroom-does-not-exist-none (from versions: none)
ERROR: No matching distribution found for toolroom-does-not-exist-none`,
    code: 'package_not_found',
    quote: 'ERROR: No matching distribution found for toolroom-does-not-exist-none',
    hint: 'Check the package name in args: toolroom-does-not-exist-none does not exist, or you have no access to it',
  },
  {
    title: 'import attributes in an old Node version',
    run: 'node w.mjs',
    stderr: `
file:///home/me/notes/w.mjs:1
import a from './d.json' with { type: 'json' }
                         ^^^^
SyntaxError: Unexpected token 'with'
    at ESMLoader.moduleStrategy (node:internal/modules/esm/translators:119:18)
    at ESMLoader.moduleProvider (node:internal/modules/esm/loader:468:14)`,
    code: 'node_too_old',
    quote: `SyntaxError: Unexpected token 'with'`,
    hint: 'Use a newer Node.js: set command to the full path of its node or npx',
  },
  {
    title: '??= in an old Node version',
    run: 'node q.cjs',
    stderr: `
/home/me/notes/q.cjs:1
const o={}; o.a ??= 1; console.error(o)
                ^^^
SyntaxError: Unexpected token '??='
    at wrapSafe (internal/modules/cjs/loader.js:1029:16)
    at Module._compile (internal/modules/cjs/loader.js:1078:27)`,
    code: 'node_too_old',
    quote: `SyntaxError: Unexpected token '??='`,
    hint: 'Use a newer Node.js: set command to the full path of its node or npx',
  },
  {
    title: 'fetch in an old Node version',
    stderr: `
[eval]:1
fetch('http://x')
^
ReferenceError: fetch is not defined
    at [eval]:1:1
    at Script.runInThisContext (node:vm:129:12)`,
    code: 'node_too_old',
    quote: 'ReferenceError: fetch is not defined',
    hint: 'Use a newer Node.js: set command to the full path of its node or npx',
  },
  {
    title: 'a built-in module of a newer Node version',
    run: 'node sq.mjs',
    stderr: `
node:internal/modules/esm/translators:391
    throw new ERR_UNKNOWN_BUILTIN_MODULE(url);
          ^
Error [ERR_UNKNOWN_BUILTIN_MODULE]: No such built-in module: node:sqlite
    at ModuleLoader.builtinStrategy (node:internal/modules/esm/translators:391:11)
    at #translate (node:internal/modules/esm/loader:497:12)
    at ModuleLoader.loadAndTranslate (node:internal/modules/esm/loader:544:27) {
  code: 'ERR_UNKNOWN_BUILTIN_MODULE'
}
Node.js v20.20.2`,
    code: 'node_too_old',
    quote: 'Error [ERR_UNKNOWN_BUILTIN_MODULE]: No such built-in module: node:sqlite',
    hint: 'Use a newer Node.js: set command to the full path of its node or npx',
  },
  {
    title: 'TypeScript in a Node version without support for it',
    run: 'node x.ts',
    stderr: `
node:internal/modules/esm/get_format:189
  throw new ERR_UNKNOWN_FILE_EXTENSION(ext, filepath);
        ^
TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /home/me/server/x.ts
    at Object.getFileProtocolModuleFormat [as file:] (node:internal/modules/esm/get_format:189:9)
    at defaultGetFormat (node:internal/modules/esm/get_format:232:36)
    at async ModuleJob._link (node:internal/modules/esm/module_job:148:19) {
  code: 'ERR_UNKNOWN_FILE_EXTENSION'
}
Node.js v20.20.2`,
    code: 'node_too_old',
    quote: 'TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /home/me/server/x.ts',
    hint: 'Run the compiled JavaScript, or use Node.js 22.18 or newer, which supports TypeScript',
  },
  {
    title: 'an unknown option of Node',
    run: 'node --experimental-strip-types x.ts',
    exit: 9,
    stderr: `
node: bad option: --experimental-strip-types`,
    code: 'node_too_old',
    quote: 'node: bad option: --experimental-strip-types',
    hint: 'Use a newer Node.js, or remove --experimental-strip-types from args and NODE_OPTIONS',
  },
  {
    title: 'an option that is not allowed in NODE_OPTIONS',
    run: 'node x.js',
    exit: 9,
    stderr: `
node: --frob is not allowed in NODE_OPTIONS`,
    code: 'node_too_old',
    quote: 'node: --frob is not allowed in NODE_OPTIONS',
    hint: 'Use a newer Node.js, or remove --frob from args and NODE_OPTIONS',
  },
  {
    title: 'a required environment variable',
    stderr: `
[eval]:1
throw new Error('GITHUB_TOKEN environment variable is required')
^
Error: GITHUB_TOKEN environment variable is required
    at [eval]:1:7
    at runScriptInThisContext (node:internal/vm:209:10)
Node.js v20.20.2`,
    code: 'missing_setting',
    quote: 'Error: GITHUB_TOKEN environment variable is required',
    hint: 'Set GITHUB_TOKEN in env',
  },
  {
    title: 'a missing environment variable in a single line',
    run: 'npx -y brave',
    stderr: `
Error: BRAVE_API_KEY environment variable is required`,
    code: 'missing_setting',
    quote: 'Error: BRAVE_API_KEY environment variable is required',
    hint: 'Set BRAVE_API_KEY in env',
  },
  {
    title: 'two missing environment variables',
    run: 'npx -y slack',
    stderr: `
Missing required environment variables: SLACK_BOT_TOKEN, SLACK_TEAM_ID`,
    code: 'missing_setting',
    quote: 'Missing required environment variables: SLACK_BOT_TOKEN, SLACK_TEAM_ID',
    hint: 'Set SLACK_BOT_TOKEN and SLACK_TEAM_ID in env',
  },
  {
    title: 'a missing environment variable in a caught and logged error',
    stderr: `
Fatal error in main(): Error: GITHUB_PERSONAL_ACCESS_TOKEN not set
    at [eval]:1:25
    at [eval]:1:153`,
    code: 'missing_setting',
    quote: 'Fatal error in main(): Error: GITHUB_PERSONAL_ACCESS_TOKEN not set',
    hint: 'Set GITHUB_PERSONAL_ACCESS_TOKEN in env',
  },
  {
    title: 'a missing environment variable in coloured output',
    stderr: `
\u001b[31mError:\u001b[39m API_KEY is not set`,
    code: 'missing_setting',
    quote: 'Error: API_KEY is not set',
    hint: 'Set API_KEY in env',
  },
  {
    title: 'a missing environment variable as a KeyError of Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "<frozen os>", line 679, in __getitem__
KeyError: 'API_KEY'`,
    code: 'missing_setting',
    quote: `KeyError: 'API_KEY'`,
    hint: 'Set API_KEY in env',
  },
  {
    title: 'a missing environment variable in the message of sys.exit',
    run: 'python3 server.py',
    stderr: `
API_KEY is not set`,
    code: 'missing_setting',
    quote: 'API_KEY is not set',
    hint: 'Set API_KEY in env',
  },
  {
    title: 'a missing environment variable after another exception',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 3, in <module>
FileNotFoundError: [Errno 2] No such file or directory: '/x'
The above exception was the direct cause of the following exception:
Traceback (most recent call last):
  File "<string>", line 5, in <module>
ValueError: OPENAI_API_KEY must be set`,
    code: 'missing_setting',
    quote: 'ValueError: OPENAI_API_KEY must be set',
    hint: 'Set OPENAI_API_KEY in env',
  },
  {
    title: 'a missing environment variable in a Rust expect',
    run: './server',
    exit: 101,
    stderr: `
thread 'main' (10120) panicked at p.rs:1:39:
TOKEN must be set
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    code: 'missing_setting',
    quote: `thread 'main' (10120) panicked at p.rs:1:39: TOKEN must be set`,
    hint: 'Set TOKEN in env',
  },
  {
    title: 'a Rust panic with its backtrace',
    run: './server',
    exit: 101,
    stderr: `
thread 'main' (9312) panicked at p.rs:1:39:
TOKEN must be set
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.`,
    code: 'missing_setting',
    quote: `thread 'main' (9312) panicked at p.rs:1:39: TOKEN must be set`,
    hint: 'Set TOKEN in env',
  },
  {
    title: 'a missing environment variable in a Rust unwrap',
    run: './server',
    exit: 101,
    stderr: `
thread 'main' (10158) panicked at q2.rs:1:42:
called \`Result::unwrap()\` on an \`Err\` value: NotPresent
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    code: 'missing_setting',
    quote: `thread 'main' (10158) panicked at q2.rs:1:42: called \`Result::unwrap()\` on an \`Err\` value: NotPresent`,
    hint: 'Set the missing value in env or args',
  },
  {
    title: 'a missing environment variable reported by zod',
    run: 'node z.cjs',
    stderr: `
/home/me/notes/node_modules/zod/v4/core/parse.cjs:44
            throw e;
            ^
ZodError: [
  {
    "expected": "string",
    "code": "invalid_type",
    "path": [
      "API_KEY"
    ],
    "message": "Invalid input: expected string, received undefined"
  },
  {
    "expected": "number",
    "code": "invalid_type",
    "path": [
      "N"
    ],
    "message": "Invalid input: expected number, received string"
  }
]
    at Object.<anonymous> (/home/me/notes/z.cjs:1:90)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)
Node.js v20.20.2`,
    code: 'missing_setting',
    quote:
      'ZodError: [ { "expected": "string", "code": "invalid_type", "path": [ "API_KEY" ], "message": "Invalid input: expected string, received undefined" }, { "expected": "number", "code": "invalid_type", "path": [ "N" ], "message": "Invalid input: expected number, received string" } ]',
    hint: 'Set API_KEY in env',
  },
  {
    title: 'a missing environment variable reported by zod, without the first lines of its error',
    run: 'node z.cjs',
    stderr: `
    at Module._load (node:internal/modules/cjs/loader:1091:12)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  issues: [
    {
      code: 'invalid_type',
      expected: 'string',
      received: 'undefined',
      path: [ 'API_KEY' ],
      message: 'Required'
    },
    {
      code: 'invalid_type',
      expected: 'number',
      received: 'string',
      path: [ 'N' ],
      message: 'Expected number, received string'
    }
  ],
  addIssue: [Function (anonymous)],
  addIssues: [Function (anonymous)],
  errors: [
    {
      code: 'invalid_type',
      expected: 'string',
      received: 'undefined',
      path: [ 'API_KEY' ],
      message: 'Required'
    },
    {
      code: 'invalid_type',
      expected: 'number',
      received: 'string',
      path: [ 'N' ],
      message: 'Expected number, received string'
    }
  ]
}
Node.js v20.20.2`,
    code: 'missing_setting',
    quote: `path: [ 'API_KEY' ], message: 'Required'`,
    hint: 'Set API_KEY in env',
  },
  {
    title: 'an error message of two lines',
    stderr: `
[eval]:1
throw new Error('Please provide a valid API key\\nwith second line')
^
Error: Please provide a valid API key
with second line
    at [eval]:1:7
    at runScriptInThisContext (node:internal/vm:209:10)
Node.js v20.20.2`,
    code: 'missing_setting',
    quote: 'Error: Please provide a valid API key with second line',
    hint: 'Set the missing value in env or args',
  },
  {
    title: 'a missing Python module',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
ModuleNotFoundError: No module named 'nosuchmodule'`,
    code: 'module_not_found',
    quote: `ModuleNotFoundError: No module named 'nosuchmodule'`,
    hint: 'Install the dependencies for this Python, for example: pip install nosuchmodule',
  },
  {
    title: 'a missing module of python -m',
    run: 'python3 -m nosuchmodule',
    stderr: `
/usr/bin/python3: No module named nosuchmodule`,
    code: 'module_not_found',
    quote: '/usr/bin/python3: No module named nosuchmodule',
    hint: 'Install nosuchmodule for this Python, or check the name after -m in args',
  },
  {
    title: 'a missing Python script',
    run: 'python3 /home/me/server/nosuch.py',
    exit: 2,
    stderr: `
/usr/bin/python3: can't open file '/home/me/server/nosuch.py': [Errno 2] No such file or directory`,
    code: 'file_not_found',
    quote: `/usr/bin/python3: can't open file '/home/me/server/nosuch.py': [Errno 2] No such file or directory`,
    hint: 'Check the path /home/me/server/nosuch.py in args, or create it',
  },
  {
    title: 'a missing shared library',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/usr/lib/python3.11/ctypes/__init__.py", line 376, in __init__
    self._handle = _dlopen(self._name, mode)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^
OSError: libnope.so.1: cannot open shared object file: No such file or directory`,
    code: 'native_module',
    quote: 'OSError: libnope.so.1: cannot open shared object file: No such file or directory',
    hint: 'Install the library libnope.so.1 on this computer, then start the server again',
  },
  {
    title: 'an exception group',
    run: 'python3 eg.py',
    stderr: `
  + Exception Group Traceback (most recent call last):
  |   File "/home/me/server/eg.py", line 5, in <module>
  |     asyncio.run(main())
  |   File "/usr/lib/python3.11/asyncio/runners.py", line 190, in run
  |     return runner.run(main)
  |            ^^^^^^^^^^^^^^^^
  |   File "/usr/lib/python3.11/asyncio/runners.py", line 118, in run
  |     return self._loop.run_until_complete(task)
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |   File "/usr/lib/python3.11/asyncio/base_events.py", line 653, in run_until_complete
  |     return future.result()
  |            ^^^^^^^^^^^^^^^
  |   File "/home/me/server/eg.py", line 4, in main
  |     async with asyncio.TaskGroup() as g: g.create_task(f())
  |   File "/usr/lib/python3.11/asyncio/taskgroups.py", line 145, in __aexit__
  |     raise me from None
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/me/server/eg.py", line 2, in f
    |     async def f(): raise ConnectionError('cannot reach http://127.0.0.1:9')
    |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    | ConnectionError: cannot reach http://127.0.0.1:9
    +------------------------------------`,
    code: 'exited',
    quote: 'ConnectionError: cannot reach http://127.0.0.1:9',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'invalid JSON in Node',
    stderr: `
<anonymous_script>:1
{a
 ^
SyntaxError: Expected property name or '}' in JSON at position 1
    at JSON.parse (<anonymous>)
    at [eval]:1:6
Node.js v20.20.2`,
    code: 'invalid_setting',
    quote: `SyntaxError: Expected property name or '}' in JSON at position 1`,
    hint: 'Correct the value that could not be parsed: a variable in env, or a file named in args or env',
  },
  {
    title: 'invalid JSON in Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s, idx=_w(s, 0).end())
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)`,
    code: 'invalid_setting',
    quote:
      'json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)',
    hint: 'Correct the value that could not be parsed: a variable in env, or a file named in args or env',
  },
  {
    title: 'a missing folder',
    run: 'node index.js /home/me/server/nodir',
    stderr: `
node:fs:1521
  const result = binding.readdir(
                         ^
Error: ENOENT: no such file or directory, scandir '/home/me/server/nodir'
    at Object.readdirSync (node:fs:1521:26)
    at [eval]:1:4
    at node:internal/main/eval_string:51:3 {
  errno: -2,
  code: 'ENOENT',
  syscall: 'scandir',
  path: '/home/me/server/nodir'
}
Node.js v20.20.2`,
    code: 'file_not_found',
    quote: `Error: ENOENT: no such file or directory, scandir '/home/me/server/nodir'`,
    hint: 'Check the path /home/me/server/nodir in args, or create it',
  },
  {
    title: 'a missing file in Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
FileNotFoundError: [Errno 2] No such file or directory: '/home/me/server/none.txt'`,
    code: 'file_not_found',
    quote: `FileNotFoundError: [Errno 2] No such file or directory: '/home/me/server/none.txt'`,
    hint: 'Create /home/me/server/none.txt, or correct the setting that contains this path',
  },
  {
    title: 'a missing script of sh',
    run: 'sh /home/me/server/nosuch.sh',
    exit: 2,
    stderr: `
sh: 0: cannot open /home/me/server/nosuch.sh: No such file`,
    code: 'file_not_found',
    quote: 'sh: 0: cannot open /home/me/server/nosuch.sh: No such file',
    hint: 'Check the path /home/me/server/nosuch.sh in args, or create it',
  },
  {
    title: 'missing folders of the filesystem server',
    run: 'npx mcp-server-filesystem /home/me/server/nofolder',
    stderr: `
Warning: Cannot access directory /home/me/server/nofolder, skipping
Error: None of the specified directories are accessible`,
    code: 'file_not_found',
    quote: 'Error: None of the specified directories are accessible',
    hint: 'Check the paths in args and env, or set cwd to the folder they are relative to',
  },
  {
    title: 'a missing jar',
    run: 'java -jar nosuch.jar',
    stderr: `
Error: Unable to access jarfile nosuch.jar`,
    code: 'file_not_found',
    quote: 'Error: Unable to access jarfile nosuch.jar',
    hint: 'Check the path nosuch.jar in args, or create it',
  },
  {
    title: 'a file without read permission',
    stderr: `
node:fs:573
  return binding.open(
                 ^
Error: EACCES: permission denied, open '/home/me/server/noperm'
    at Object.openSync (node:fs:573:18)
    at Object.readFileSync (node:fs:452:35)
    at node:internal/main/eval_string:51:3 {
  errno: -13,
  code: 'EACCES',
  syscall: 'open',
  path: '/home/me/server/noperm'
}
Node.js v20.20.2`,
    code: 'permission_denied',
    quote: `Error: EACCES: permission denied, open '/home/me/server/noperm'`,
    hint: 'Give your user access to /home/me/server/noperm, or use another path',
  },
  {
    title: 'a file without read permission in Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
PermissionError: [Errno 13] Permission denied: '/home/me/server/noperm'`,
    code: 'permission_denied',
    quote: `PermissionError: [Errno 13] Permission denied: '/home/me/server/noperm'`,
    hint: 'Give your user access to /home/me/server/noperm, or use another path',
  },
  {
    title: 'a full disk',
    stderr: `
node:fs:2380
    return binding.writeFileUtf8(
                   ^
Error: ENOSPC: no space left on device, write
    at Object.writeFileSync (node:fs:2380:20)
    at [eval]:1:4
    at node:internal/main/eval_string:51:3 {
  errno: -28,
  code: 'ENOSPC',
  syscall: 'write'
}
Node.js v20.20.2`,
    code: 'disk_full',
    quote: 'Error: ENOSPC: no space left on device, write',
    hint: 'Free disk space, then start it again',
  },
  {
    title: 'a full disk, reported by Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
OSError: [Errno 28] No space left on device`,
    code: 'disk_full',
    quote: 'OSError: [Errno 28] No space left on device',
    hint: 'Free disk space, then start it again',
  },
  {
    title: 'too many open files',
    stderr: `
node:fs:573
  return binding.open(
                 ^
Error: EMFILE: too many open files, open '/dev/null'
    at Object.openSync (node:fs:573:18)
    at [eval]:1:11
    at node:internal/main/eval_string:51:3 {
  errno: -24,
  code: 'EMFILE',
  syscall: 'open',
  path: '/dev/null'
}
Node.js v20.20.2`,
    code: 'too_many_files',
    quote: `Error: EMFILE: too many open files, open '/dev/null'`,
    hint: 'Raise the limit for open files (ulimit -n), or use a smaller folder',
  },
  {
    title: 'a full JavaScript heap',
    run: 'node --max-old-space-size=16 index.js',
    exit: 134,
    stderr: `
<--- Last few GCs --->
[9063:0x382cbe20]       56 ms: Mark-Compact 13.1 (25.7) -> 12.5 (29.5) MB, 2.93 / 0.00 ms  (+ 4.0 ms in 42 steps since start of marking, biggest step 0.4 ms, walltime since start of marking 11 ms) (average mu = 1.000, current mu = 1.000) finalize incremen[9063
<--- JS stacktrace --->
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
----- Native stack trace -----
 1: 0xb78db3 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]
 2: 0xee8300 v8::Utils::ReportOOMFailure(v8::internal::Isolate*, char const*, v8::OOMDetails const&) [node]
10: 0x195e476  [node]`,
    code: 'out_of_memory',
    quote: 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
    hint: 'Allow more memory: set NODE_OPTIONS to --max-old-space-size=4096 in env',
  },
  {
    title: 'a MemoryError of Python',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "<string>", line 1, in <module>
MemoryError`,
    code: 'out_of_memory',
    quote: 'MemoryError',
    hint: 'Free memory on this computer, or reduce what the server loads, then start it again',
  },
  {
    title: 'a failed memory allocation in Rust',
    run: './server',
    exit: 134,
    stderr: `
memory allocation of 4611686018427387904 bytes failed
stack backtrace:
   0: std::alloc::rust_oom
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/alloc.rs:424:5
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.`,
    code: 'out_of_memory',
    quote: 'memory allocation of 4611686018427387904 bytes failed',
    hint: 'Free memory on this computer, or reduce what the server loads, then start it again',
  },
  {
    title: 'a Docker daemon that is not running',
    run: 'docker run -i --rm none/none',
    exit: 125,
    stderr: `
docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
Run 'docker run --help' for more information`,
    code: 'docker_unavailable',
    quote:
      'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
    hint: 'Start Docker, then start the server again',
  },
  {
    title: 'an unknown option of docker',
    run: 'docker run --frob',
    exit: 125,
    stderr: `
unknown flag: --frob
Usage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]
Run 'docker run --help' for more information`,
    code: 'bad_arguments',
    quote: 'unknown flag: --frob',
    hint: 'Check args: run the command with --help',
  },
  {
    title: 'a program that sh cannot find',
    run: 'sh -c nosuchprogram',
    exit: 127,
    stderr: `
sh: 1: nosuchprogram: not found`,
    code: 'command_not_found',
    quote: 'sh: 1: nosuchprogram: not found',
    hint: 'Install nosuchprogram, check its name, or use its full path',
  },
  {
    title: 'a program that bash cannot find',
    run: 'bash -c nosuchprogram',
    exit: 127,
    stderr: `
bash: line 1: nosuchprogram: command not found`,
    code: 'command_not_found',
    quote: 'bash: line 1: nosuchprogram: command not found',
    hint: 'Install nosuchprogram, check its name, or use its full path',
  },
  {
    title: 'a program that env cannot find',
    run: 'env nosuch',
    exit: 127,
    stderr: `
env: ‘nosuch’: No such file or directory`,
    code: 'command_not_found',
    quote: 'env: ‘nosuch’: No such file or directory',
    hint: 'Install nosuch, check its name, or use its full path',
  },
  {
    title: 'a missing program that the server starts',
    stderr: `
node:events:502
      throw er; // Unhandled 'error' event
      ^
Error: spawn nosuch ENOENT
    at ChildProcess._handle.onexit (node:internal/child_process:285:19)
    at onErrorNT (node:internal/child_process:483:16)
Emitted 'error' event on ChildProcess instance at:
    at ChildProcess._handle.onexit (node:internal/child_process:291:12)
    at onErrorNT (node:internal/child_process:483:16)
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  errno: -2,
  code: 'ENOENT',
  syscall: 'spawn nosuch',
  path: 'nosuch',
  spawnargs: []
}
Node.js v20.20.2`,
    code: 'command_not_found',
    quote: 'Error: spawn nosuch ENOENT',
    hint: 'Install nosuch, check its name, or use its full path',
  },
  {
    title: 'a file that sh is not permitted to execute',
    run: 'sh -c /home/me/server/text.node',
    exit: 126,
    stderr: `
sh: 1: /home/me/server/text.node: Permission denied`,
    code: 'not_executable',
    quote: 'sh: 1: /home/me/server/text.node: Permission denied',
    hint: `Run: chmod +x '/home/me/server/text.node', or set command to its interpreter`,
  },
  {
    title: 'a refused login',
    stderr: `
[eval]:1
throw new Error('Request failed with status code 401')
^
Error: Request failed with status code 401
    at [eval]:1:7
    at runScriptInThisContext (node:internal/vm:209:10)
Node.js v20.20.2`,
    code: 'credentials_refused',
    quote: 'Error: Request failed with status code 401',
    hint: 'Check the key or token in env and args: the service refused it',
  },
  {
    title: 'a database that refuses connections',
    stderr: `
node:events:502
      throw er; // Unhandled 'error' event
      ^
Error: connect ECONNREFUSED 127.0.0.1:1
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)
Emitted 'error' event on Socket instance at:
    at emitErrorNT (node:internal/streams/destroy:169:8)
    at emitErrorCloseNT (node:internal/streams/destroy:128:3)
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  errno: -111,
  code: 'ECONNREFUSED',
  syscall: 'connect',
  address: '127.0.0.1',
  port: 1
}
Node.js v20.20.2`,
    code: 'host_unreachable',
    quote: 'Error: connect ECONNREFUSED 127.0.0.1:1',
    hint: 'Check that 127.0.0.1:1 is running and reachable from this computer',
  },
  {
    title: 'an unresolvable host as the cause of another error',
    stderr: `
node:internal/deps/undici/undici:14976
      Error.captureStackTrace(err);
            ^
TypeError: fetch failed
    at node:internal/deps/undici/undici:14976:13
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5) {
  [cause]: Error: getaddrinfo ENOTFOUND nosuchhost.invalid
      at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:122:26) {
    errno: -3008,
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname: 'nosuchhost.invalid'
  }
}
Node.js v20.20.2`,
    code: 'host_unreachable',
    quote: 'TypeError: fetch failed [cause]: Error: getaddrinfo ENOTFOUND nosuchhost.invalid',
    hint: 'Check that nosuchhost.invalid is running and reachable from this computer',
  },
  {
    title: 'a refused connection in a caught and logged error',
    stderr: `
Fatal error: TypeError: fetch failed
    at node:internal/deps/undici/undici:14976:13
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5) {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:9999
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {
    errno: -111,
    code: 'ECONNREFUSED',
    syscall: 'connect',
    address: '127.0.0.1',
    port: 9999
  }
}`,
    code: 'host_unreachable',
    quote: 'Fatal error: TypeError: fetch failed [cause]: Error: connect ECONNREFUSED 127.0.0.1:9999',
    hint: 'Check that 127.0.0.1:9999 is running and reachable from this computer',
  },
  {
    title: 'an option required by commander',
    run: 'node c.cjs',
    stderr: `
error: required option '-t, --token <t>' not specified`,
    code: 'bad_arguments',
    quote: `error: required option '-t, --token <t>' not specified`,
    hint: 'Check args: run the command with --help',
  },
  {
    title: 'an option required by yargs',
    run: 'node y.cjs',
    stderr: `
Options:
  --help     Show help                                                 [boolean]
  --version  Show version number                                       [boolean]
  --token    tok                                                      [required]
Missing required argument: token`,
    code: 'bad_arguments',
    quote: 'Missing required argument: token',
    hint: 'Check args: run the command with --help',
  },
  {
    title: 'an option required by argparse',
    run: 'python3 server.py',
    exit: 2,
    stderr: `
usage: srv [-h] --db DB
srv: error: the following arguments are required: --db`,
    code: 'bad_arguments',
    quote: 'srv: error: the following arguments are required: --db',
    hint: 'Check args: run the command with --help',
  },
  {
    title: 'an error of an unknown kind',
    stderr: `
[eval]:1
class McpError extends Error{constructor(m){super(m);this.name='McpError'}};throw new McpError('MCP error -32000: Connection closed')
                                                                            ^
McpError: MCP error -32000: Connection closed
    at [eval]:1:83
    at runScriptInThisContext (node:internal/vm:209:10)
Node.js v20.20.2`,
    code: 'exited',
    quote: 'McpError: MCP error -32000: Connection closed',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'an unhandled promise rejection',
    stderr: `
node:internal/process/promises:389
      new UnhandledPromiseRejection(reason);
      ^
UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "x".
    at throwUnhandledRejectionsMode (node:internal/process/promises:389:7)
    at processPromiseRejections (node:internal/process/promises:470:17)
    at process.processTicksAndRejections (node:internal/process/task_queues:96:32) {
  code: 'ERR_UNHANDLED_REJECTION'
}
Node.js v20.20.2`,
    code: 'exited',
    quote:
      'UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "x".',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'a thrown value that is not an Error',
    stderr: `
[eval]:1
throw {a:1}
^
{ a: 1 }
Node.js v20.20.2`,
    code: 'exited',
    quote: '{ a: 1 }',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'an import in a file that is not a module',
    run: 'node imp.cjs',
    stderr: `
(node:9589) Warning: To load an ES module, set "type": "module" in the package.json or use the .mjs extension.
(Use \`node --trace-warnings ...\` to show where the warning was created)
/home/me/server/imp.cjs:1
import fs from 'fs'
^^^^^^
SyntaxError: Cannot use import statement outside a module
    at wrapSafe (node:internal/modules/cjs/loader:1464:18)
    at Module._compile (node:internal/modules/cjs/loader:1495:20)
Node.js v20.20.2`,
    code: 'exited',
    quote: 'SyntaxError: Cannot use import statement outside a module',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'a Python syntax error',
    run: 'python3 server.py',
    stderr: `
  File "<string>", line 1
    print(1
         ^
SyntaxError: '(' was never closed`,
    code: 'exited',
    quote: `SyntaxError: '(' was never closed`,
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'a project that cargo cannot find',
    run: 'cargo run',
    exit: 101,
    stderr: `
error: could not find \`Cargo.toml\` in \`/home/me/server\` or any parent directory`,
    code: 'exited',
    quote: 'error: could not find `Cargo.toml` in `/home/me/server` or any parent directory',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
]

/** As reported by others: these programs were not at hand. */
const REPORTED: readonly Output[] = [
  {
    title: 'a package that uv cannot find',
    run: 'uvx --from mcp-ashby-connector ashby',
    stderr: `
  × No solution found when resolving tool dependencies:
  ╰─▶ Because mcp-ashby-connector was not found in the package registry and you require mcp-ashby-connector, we can
      conclude that your requirements are unsatisfiable.`,
    code: 'package_not_found',
    quote:
      '× No solution found when resolving tool dependencies: ╰─▶ Because mcp-ashby-connector was not found in the package registry and you require mcp-ashby-connector, we can conclude that your requirements are unsatisfiable.',
    hint: 'Check the package name in args: mcp-ashby-connector does not exist, or you have no access to it',
  },
  {
    title: 'a package index that uv cannot reach',
    run: 'uvx mcp-server-time',
    exit: 2,
    stderr: `
error: Request failed after 3 retries
  Caused by: Failed to fetch: \`https://index.example/simple/mcp-server-time/\`
  Caused by: error sending request for url (https://index.example/simple/mcp-server-time/)
  Caused by: client error (Connect)
  Caused by: operation timed out`,
    code: 'registry_unreachable',
    quote:
      'error: Request failed after 3 retries Caused by: Failed to fetch: `https://index.example/simple/mcp-server-time/` Caused by: error sending request for url (https://index.example/simple/mcp-server-time/) Caused by: client error (Connect) Caused by: operation timed out',
    hint: 'Check the network, the proxy and the package registry, then start it again',
  },
  {
    title: 'a program that is missing in a package of uv',
    run: 'uvx --from visidata vd2',
    stderr: `
Installed 3 packages in 224ms
An executable named \`vd2\` is not provided by package \`visidata\`.
The following executables are available:
- vd`,
    code: 'no_executable',
    quote: 'An executable named `vd2` is not provided by package `visidata`.',
    hint: 'Check the package in args: it has no program with that name, or is a library',
  },
  {
    title: 'an image that docker cannot find',
    run: 'docker run -i --rm mcp/gmail',
    exit: 125,
    stderr: `
Unable to find image 'mcp/gmail:latest' locally
docker: Error response from daemon: pull access denied for mcp/gmail, repository does not exist or may require 'docker login': denied: requested access to the resource is denied.
See 'docker run --help'.`,
    code: 'image_not_found',
    quote: `docker: Error response from daemon: pull access denied for mcp/gmail, repository does not exist or may require 'docker login': denied: requested access to the resource is denied.`,
    hint: 'Check the image name in args, build the image, or run docker login if it is private',
  },
  {
    title: 'a Docker socket without permission',
    run: 'docker run -i --rm mcp/time',
    exit: 126,
    stderr: `
docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: dial unix /var/run/docker.sock: connect: permission denied.
See 'docker run --help'.`,
    code: 'docker_unavailable',
    quote:
      'docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: dial unix /var/run/docker.sock: connect: permission denied.',
    hint: 'Give your user access to Docker, for example by adding it to the docker group, then log out and in again',
  },
  {
    title: 'a native module for a newer system',
    stderr: `
node:internal/modules/cjs/loader:1661
  return process.dlopen(module, path.toNamespacedPath(filename));
                 ^
Error: /lib/x86_64-linux-gnu/libc.so.6: version \`GLIBC_2.38' not found (required by /home/me/.npm/_npx/1f2e/node_modules/sharp/build/sharp.node)
    at Module._extensions..node (node:internal/modules/cjs/loader:1661:18) {
  code: 'ERR_DLOPEN_FAILED'
}
Node.js v20.20.2`,
    code: 'native_module',
    quote: `Error: /lib/x86_64-linux-gnu/libc.so.6: version \`GLIBC_2.38' not found (required by /home/me/.npm/_npx/1f2e/node_modules/sharp/build/sharp.node)`,
    hint: 'Delete /home/me/.npm/_npx/1f2e and allow install scripts to let npx build the package for this Node.js',
  },
  {
    title: 'a native module that cannot be built',
    run: 'npx -y notes-mcp',
    stderr: `
npm ERR! code 1
npm ERR! path /home/me/.npm/_npx/1f2e/node_modules/better-sqlite3
npm ERR! command failed
npm ERR! command sh -c prebuild-install || node-gyp rebuild --release
npm ERR! prebuild-install WARN install No prebuilt binaries found (target=20.20.2 runtime=node arch=x64 platform=linux)
npm ERR! gyp info it worked if it ends with ok
npm ERR! gyp ERR! stack Error: Could not find any Python installation to use
npm ERR! gyp ERR! not ok`,
    code: 'native_module',
    quote: 'npm ERR! gyp ERR! stack Error: Could not find any Python installation to use',
    hint: 'Delete /home/me/.npm/_npx/1f2e and allow install scripts to let npx build the package for this Node.js',
  },
  {
    title: 'a missing dependency in the cache of npx',
    run: 'npx -y notes-mcp',
    stderr: `
node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^
Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ajv' imported from /home/me/.npm/_npx/1f2e/node_modules/notes-mcp/dist/index.js
    at packageResolve (node:internal/modules/esm/resolve:873:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}
Node.js v20.20.2`,
    code: 'module_not_found',
    quote: `Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ajv' imported from /home/me/.npm/_npx/1f2e/node_modules/notes-mcp/dist/index.js`,
    hint: 'Delete /home/me/.npm/_npx/1f2e to let npx install the package again',
  },
  {
    title: 'a port in use, reported by uvicorn',
    run: 'python3 server.py',
    stderr: `
INFO:     Started server process [4711]
ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use
INFO:     Waiting for application shutdown.`,
    code: 'port_in_use',
    quote: `ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use`,
    hint: 'Stop the program that uses port 8000, or configure another port',
  },
  {
    title: 'a Go panic',
    run: './server',
    exit: 2,
    stderr: `
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47b3a5]
goroutine 1 [running]:
main.main()
	/home/me/server/main.go:8 +0x1d
exit status 2`,
    code: 'exited',
    quote: 'panic: runtime error: invalid memory address or nil pointer dereference',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'a missing setting of a Go program',
    run: 'github-mcp-server stdio',
    stderr: `
Error: GITHUB_PERSONAL_ACCESS_TOKEN not set
Usage:
  server stdio [flags]
Flags:
  -h, --help   help for stdio
`,
    code: 'missing_setting',
    quote: 'Error: GITHUB_PERSONAL_ACCESS_TOKEN not set',
    hint: 'Set GITHUB_PERSONAL_ACCESS_TOKEN in env',
  },
  {
    title: 'an argument required by clap',
    run: './server',
    exit: 2,
    stderr: `
error: the following required arguments were not provided:
  --token <TOKEN>
Usage: server --token <TOKEN>
For more information, try '--help'.`,
    code: 'bad_arguments',
    quote: 'error: the following required arguments were not provided: --token <TOKEN>',
    hint: 'Check args: run the command with --help',
  },
  {
    title: 'a field required by pydantic',
    run: 'python3 server.py',
    stderr: `
Traceback (most recent call last):
  File "/home/me/server/pd.py", line 4, in <module>
    Settings()
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.example/2.13/v/missing`,
    code: 'missing_setting',
    quote:
      'pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings api_key Field required [type=missing, input_value={}, input_type=dict]',
    hint: 'Set the missing value in env or args',
  },
  {
    title: 'an invalid key',
    stderr: `
[ERROR] Error communicating: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`,
    code: 'credentials_refused',
    quote:
      '[ERROR] Error communicating: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
    hint: 'Check the key or token in env and args: the service refused it',
  },
  {
    title: 'a token that GitHub refuses',
    stderr: `
HttpError: Bad credentials
    at /home/me/server/node_modules/@octokit/request/dist-node/index.js:86:21`,
    code: 'credentials_refused',
    quote: 'HttpError: Bad credentials',
    hint: 'Check the key or token in env and args: the service refused it',
  },
  {
    title: 'an exceeded limit for file watchers',
    stderr: `
Error: ENOSPC: System limit for number of file watchers reached, watch '/home/me/server'`,
    code: 'too_many_files',
    quote: `Error: ENOSPC: System limit for number of file watchers reached, watch '/home/me/server'`,
    hint: 'Raise fs.inotify.max_user_watches, the limit for watched files',
  },
  {
    title: 'a warning about a setting before the actual error',
    stderr: `
WARN LOG_LEVEL is not set
LOG_FORMAT is not set, using default
Error: the index is damaged`,
    code: 'exited',
    quote: 'Error: the index is damaged',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'a cause above a general last line',
    stderr: `
NOTION_TOKEN is required
Fatal error, giving up`,
    code: 'missing_setting',
    quote: 'NOTION_TOKEN is required',
    hint: 'Set NOTION_TOKEN in env',
  },
  {
    title: 'output in another language',
    stderr: `
配置文件损坏
========`,
    code: 'exited',
    quote: '配置文件损坏',
    hint: 'Read the previous lines in the log, or run the command in a terminal',
  },
  {
    title: 'usage as the only output',
    run: 'npx mcp-server-filesystem',
    stderr: `
Usage: mcp-server-filesystem <allowed-directory> [additional-directories...]`,
    code: 'bad_arguments',
    quote: 'Usage: mcp-server-filesystem <allowed-directory> [additional-directories...]',
    hint: 'Check args: the command printed its usage instead of starting',
  },
]

const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '')

function ended(more: Partial<Ended>): Ended {
  const base = { code: 1, signal: null, stderr: [], noise: [], wasRunning: false }
  return { ...base, args: ['index.js'], ...more }
}

/** The first that fits is what the hint says. */
const ACTIONS: readonly (readonly [hint: RegExp, kind: RepairAction['kind']])[] = [
  [/NODE_OPTIONS to/, 'set_variable'],
  [/^Set (?!cwd|the)[A-Z_]+/, 'set_variable'],
  [/^Set cwd/, 'edit_folder'],
  [/^Start Docker/, 'start_docker'],
  [/key or token in env|^Set the missing value|^Correct the value|^Create /, 'edit_variables'],
  [
    /^Check command|shell runs|chmod \+x|in a terminal to see|full path of its node|^Run the compiled/,
    'edit_command',
  ],
  [/^Install nosuch(?:program)?,/, 'edit_command'],
  [/in args|^Check args|from args|before the package|port above|use another path/, 'edit_arguments'],
  [
    /start it again$|^Start it again|^Raise|^Stop the program|^Run npm login|access to Docker|^Check that .+ is running/,
    'start',
  ],
  [/./, 'see_log'],
]

function actionOf(hint: string): object {
  const kind = hint.startsWith('Install the library')
    ? 'see_log'
    : ACTIONS.find(([pattern]) => pattern.test(hint))?.[1]
  const [name = null] = /\b[A-Z][A-Z_]{3,}\b/.exec(hint) ?? []
  if (kind === 'set_variable') return { kind, name }
  return kind === 'edit_variables' ? { kind, name: null } : { kind }
}

describe('known causes', () => {
  test.each([...PRODUCED, ...REPORTED])('the explanation is right for $title', (output) => {
    const { run = 'node index.js', exit = 1, stderr, code, quote, hint } = output
    const [, ...args] = run.split(' ')
    const byShell = exit === 134 ? ' (SIGABRT)' : ''
    expect(explainExit(ended({ code: exit, stderr: lines(stderr), args }))).toEqual({
      code,
      message: `The process exited with code ${exit}${byShell} before it was ready: ${quote}`,
      hint,
      action: actionOf(hint),
    })
  })

  test.each([...PRODUCED, ...REPORTED])(
    'empty lines and Windows line breaks do not change the explanation for $title',
    (output) => {
      const { run = 'node index.js', exit = 1, stderr, code } = output
      const [, ...args] = run.split(' ')
      const raw = stderr.split('\n').flatMap((line) => [`${line}\r`, ''])
      expect(explainExit(ended({ code: exit, stderr: raw, args })).code).toBe(code)
    },
  )

  test('an action names the variable with the address, the path that an isolation refuses, and a program that is known', () => {
    const action = (stderr: string, more: Partial<Ended> = {}) =>
      explainExit(ended({ stderr: [stderr], ...more })).action
    const env = { LOG: 'debug', DATABASE_URL: 'postgres://me:secret@127.0.0.1:5432/x' }
    const refused = 'Error: connect ECONNREFUSED 127.0.0.1:5432'
    expect(action(refused, { env })).toEqual({ kind: 'edit_variables', name: 'DATABASE_URL' })
    expect(action(refused)).toEqual({ kind: 'start' })
    const denied = "Error: EACCES: permission denied, open '/home/me/notes/a.txt'"
    const missing = "Error: ENOENT: no such file or directory, open '/home/me/notes/a.txt'"
    const path = '/home/me/notes/a.txt'
    expect(action(denied, { isIsolated: true })).toEqual({ kind: 'grant_path', path, access: 'write' })
    expect(action(missing, { isIsolated: true })).toEqual({ kind: 'grant_path', path, access: 'read' })
    expect(action('sh: 1: exec: uvx: not found')).toEqual({
      kind: 'install_runtime',
      program: 'uvx',
      url: 'https://docs.astral.sh/uv',
    })
    const memory = explainExit(ended({ code: 137, outOfMemory: true, limitMb: 256 }))
    expect(memory.action).toEqual({ kind: 'change_isolation' })
  })

  test.each(['/', '/home', '~', '~/.ssh/id_rsa', '~/notes/../.aws', '~/.bashrc', '/run/docker.sock'])(
    'no action opens %s: an isolated server can print any path',
    (path) => {
      const file = path.replace('~', homedir())
      for (const error of ['EACCES: permission denied', 'ENOENT: no such file or directory']) {
        const { action, hint } = explainExit(
          ended({ stderr: [`Error: ${error}, open '${file}'`], isIsolated: true }),
        )
        expect(action).toEqual({ kind: 'change_isolation' })
        expect(hint).not.toMatch(/^Let it/)
      }
    },
  )

  test('the cause is taken from stdout if stderr is empty', () => {
    const { code, message } = explainExit(ended({ noise: ['Error: GITHUB_TOKEN is not set'] }))
    expect({ code, message }).toEqual({
      code: 'missing_setting',
      message: 'The process exited with code 1 before it was ready: Error: GITHUB_TOKEN is not set',
    })
  })

  test('a long line is cut', () => {
    const { message } = explainExit(ended({ stderr: [`Error: ${'x'.repeat(400)}`] }))
    expect(message).toBe(`The process exited with code 1 before it was ready: Error: ${'x'.repeat(292)}…`)
  })

  test('a surrogate pair is never split', () => {
    const { message } = explainExit(ended({ stderr: [`Errors ${'😀'.repeat(300)}`] }))
    expect(message.isWellFormed()).toBe(true)
  })
})

describe('exit status', () => {
  const again = 'Another program or a user ended it: start it again'
  const memory = 'The system may have run out of memory: free some, then start it again'
  const broken = 'The program crashed: update or reinstall it, or report the error to its author'
  const stays = 'Check command and args: a tool server keeps running and communicates over stdin and stdout'
  const abort = ['----- Native stack trace -----', ' 1: 0xd3a3c0  [node]', '1: [eval]:1:9']

  test.each<[string, Partial<Ended>, string, string, string]>([
    [
      'code 3 without output',
      { code: 3 },
      'exited',
      'The process exited with code 3 before it was ready without an error message',
      'Run the command in a terminal to see what it needs',
    ],
    [
      'code 1 after it was ready',
      { code: 1, wasRunning: true, stderr: ['session lost'] },
      'exited',
      'The process exited with code 1 after it was ready: session lost',
      'Read the previous lines in the log, or run the command in a terminal',
    ],
    [
      'SIGKILL',
      { code: null, signal: 'SIGKILL' },
      'killed',
      'The process was ended by SIGKILL before it was ready',
      memory,
    ],
    [
      'SIGKILL in a shell',
      { code: 137, stderr: ['Killed'] },
      'killed',
      'The process exited with code 137 (SIGKILL) before it was ready. Last output: Killed',
      memory,
    ],
    [
      'SIGTERM after a logged error',
      { code: null, signal: 'SIGTERM', wasRunning: true, stderr: ['Error: API_KEY is not set'] },
      'killed',
      'The process was ended by SIGTERM after it was ready. Last output: Error: API_KEY is not set',
      again,
    ],
    [
      'SIGSEGV',
      { code: null, signal: 'SIGSEGV', wasRunning: true },
      'crashed',
      'The process was ended by SIGSEGV after it was ready',
      broken,
    ],
    [
      'SIGSEGV in a shell',
      { code: 139 },
      'crashed',
      'The process exited with code 139 (SIGSEGV) before it was ready',
      broken,
    ],
    [
      'an abort with only stack frames',
      { code: null, signal: 'SIGABRT', stderr: abort },
      'crashed',
      'The process was ended by SIGABRT before it was ready',
      broken,
    ],
    [
      'an abort because of a full heap',
      {
        code: null,
        signal: 'SIGABRT',
        stderr: ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
      },
      'out_of_memory',
      'The process was ended by SIGABRT before it was ready: FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
      'Allow more memory: set NODE_OPTIONS to --max-old-space-size=4096 in env',
    ],
    [
      'code 0',
      { code: 0 },
      'exited',
      'The process exited without an error: the command does not keep running',
      stays,
    ],
    [
      'code 0 after printing its help',
      { code: 0, noise: ['Usage: cowsay [-e eye_string] <message>', '  -h  Show help'] },
      'exited',
      'The process exited without an error: the command does not keep running. Last output: Usage: cowsay [-e eye_string] <message>',
      stays,
    ],
    [
      'code 0 after printing its version',
      { code: 0, noise: ['v20.20.2'] },
      'exited',
      'The process exited without an error: the command does not keep running. Last output: v20.20.2',
      stays,
    ],
    [
      'code 0 after it was ready',
      { code: 0, wasRunning: true },
      'exited',
      'The process exited without an error after it was ready',
      'Start it again. If it exits again, read the end of its log',
    ],
    [
      'code 127 without output',
      { code: 127 },
      'command_not_found',
      'The process exited with code 127 before it was ready: the shell could not find or run the program',
      'Check the program that the shell runs, or use its full path',
    ],
    [
      'an unknown exit code',
      { code: null },
      'exited',
      'The process ended before it was ready without an error message',
      'Run the command in a terminal to see what it needs',
    ],
  ])('an exit by %s is explained', (_, more, code, message, hint) => {
    expect(explainExit(ended(more))).toEqual({ code, message, hint, action: actionOf(hint) })
  })

  test('an earlier error in the log of a running server is not the cause', () => {
    const stderr = ['GET /user: 401 Unauthorized', 'Error: the index is damaged']
    expect(explainExit(ended({ wasRunning: true, stderr })).code).toBe('exited')
    expect(explainExit(ended({ wasRunning: false, stderr })).code).toBe('credentials_refused')
  })
})

describe('any output', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.constantFrom(...[...PRODUCED, ...REPORTED].flatMap(({ stderr }) => stderr.split('\n'))),
  )
  const anyEnd = fc.record({
    code: fc.option(fc.integer({ min: 0, max: 255 })),
    signal: fc.option(fc.constantFrom<NodeJS.Signals>('SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGABRT', 'SIGPIPE')),
    stderr: fc.array(piece, { maxLength: 40 }),
    noise: fc.array(piece, { maxLength: 5 }),
    wasRunning: fc.boolean(),
    args: fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 }),
  })

  test('message and hint are short single lines for any output', () => {
    fc.assert(
      fc.property(anyEnd, (end) => {
        const { code, message, hint } = explainExit(end)
        expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/)
        expect(message).toMatch(/^The process [^\n\r]+$/)
        expect(hint).toMatch(/^[A-Z][^\n\r]+$/)
        expect(message.length).toBeLessThan(700)
        expect(hint?.length).toBeLessThan(500)
      }),
      { numRuns: runs(100, 500) },
    )
  })

  const long = (part: string) => part.repeat(Math.ceil(65_536 / part.length))
  test.each([
    'a',
    ' ',
    'Error',
    'Error: ',
    'A_',
    'A_A ',
    'set ',
    '/',
    "'",
    '\u001b[',
    '\u001b;',
    '. ',
    'token ',
    'npm error ',
    '\r',
    '1.',
  ])('40 lines of 64 KiB of %j are explained within 5 s', (part) => {
    const stderr = Array.from({ length: 40 }, () => long(part))
    const spent = stopwatch()
    const { message } = explainExit(ended({ stderr, noise: stderr }))
    expect(spent()).toBeLessThan(5000)
    expect(message.length).toBeLessThan(700)
  })
})
