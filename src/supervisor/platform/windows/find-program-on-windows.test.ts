import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readForeignHead } from '../../../kernel/files/foreign-file.ts'
import { kindOf } from '../find-program.ts'
import { type Disk, resolveOnWindows } from './find-program-on-windows.ts'

/** As the Node installer writes them: `npx.cmd` of npm 11, and `npm.cmd` of npm 3 to 8. */
const NPX_CMD = `:: Created by npm, please don't edit manually.
@ECHO OFF

SETLOCAL

SET "NODE_EXE=%~dp0\\node.exe"
IF NOT EXIST "%NODE_EXE%" (
  SET "NODE_EXE=node"
)

SET "NPM_PREFIX_JS=%~dp0\\node_modules\\npm\\bin\\npm-prefix.js"
SET "NPX_CLI_JS=%~dp0\\node_modules\\npm\\bin\\npx-cli.js"
FOR /F "delims=" %%F IN ('CALL "%NODE_EXE%" "%NPM_PREFIX_JS%"') DO (
  SET "NPM_PREFIX_NPX_CLI_JS=%%F\\node_modules\\npm\\bin\\npx-cli.js"
)
IF EXIST "%NPM_PREFIX_NPX_CLI_JS%" (
  SET "NPX_CLI_JS=%NPM_PREFIX_NPX_CLI_JS%"
)

"%NODE_EXE%" "%NPX_CLI_JS%" %*
`
const NPM_CMD = NPX_CMD.replace(/SET "NPM_PREFIX_JS.*\n/, '')
  .replace('"%NPM_PREFIX_JS%"', '"%NPM_CLI_JS%" prefix -g')
  .replaceAll('NPX_CLI_JS', 'NPM_CLI_JS')
  .replaceAll('npx-cli.js', 'npm-cli.js')
const NPX_CMD_OF_NPM_6 = NPX_CMD.replace(
  /NPM_PREFIX_JS=(.*)npm-prefix.js/,
  'NPM_CLI_JS=$1npm-cli.js',
).replace('"%NPM_PREFIX_JS%"', '"%NPM_CLI_JS%" prefix -g')

const HEAD = `@ECHO off
GOTO start
:find_dp0
SET dp0=%~dp0
EXIT /b
:start
SETLOCAL
CALL :find_dp0
`
/** As cmd-shim writes it for the program of a package, since npm 7. */
const shim = (target: string, options = '') => `${HEAD}
IF EXIST "%dp0%\\node.exe" (
  SET "_prog=%dp0%\\node.exe"
) ELSE (
  SET "_prog=node"
  SET PATHEXT=%PATHEXT:;.JS;=;%
)

endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%" ${options} "%dp0%\\${target}" %*
`
/** The same by npm 6, and by the versions before. */
const SHIM_OF_NPM_6 = `@ECHO off
SETLOCAL
CALL :find_dp0

IF EXIST "%dp0%\\node.exe" (
  SET "_prog=%dp0%\\node.exe"
) ELSE (
  SET "_prog=node"
  SET PATHEXT=%PATHEXT:;.JS;=;%
)

"%_prog%"  "%dp0%\\..\\tool\\cli.js" %*
ENDLOCAL
EXIT /b %errorlevel%
:find_dp0
SET dp0=%~dp0
EXIT /b
`
const SHIM_OF_NPM_5 = `@IF EXIST "%~dp0\\node.exe" (
  "%~dp0\\node.exe"  "%~dp0\\..\\tool\\cli.js" %*
) ELSE (
  @SETLOCAL
  @SET PATHEXT=%PATHEXT:;.JS;=;%
  node  "%~dp0\\..\\tool\\cli.js" %*
)
`
/** pnpm's sets a variable, so it cannot be replaced by what it starts. */
const PNPM_SHIM = `@SETLOCAL
@SET "NODE_PATH=C:\\pnpm\\node_modules"
@IF EXIST "%~dp0\\node.exe" (
  "%~dp0\\node.exe"  "%~dp0\\..\\tool\\cli.js" %*
) ELSE (
  @SET PATHEXT=%PATHEXT:;.JS;=;%
  node  "%~dp0\\..\\tool\\cli.js" %*
)
`

const NODEJS = 'C:\\Program Files\\nodejs'
const NODE = `${NODEJS}\\node.exe`
const BIN = 'C:\\project\\node_modules\\.bin'
const TOOL = 'C:\\project\\node_modules\\tool\\cli.js'
const CMD = 'C:\\Windows\\System32\\cmd.exe'

/** A drive C: in a folder, with these files. */
function drive(files: Readonly<Record<string, string>>): Disk {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'toolroom-drive-')))
  onTestFinished(() => rmSync(root, { recursive: true }))
  /** Names have no case. */
  const onDisk = (file: string) =>
    join(root, file.toLowerCase().replace(/^c:/, 'c').replaceAll('\\', '/').replaceAll('\0', '_'))
  for (const [file, text] of Object.entries({ [NODE]: '', 'C:\\project\\package.json': '{}', ...files })) {
    mkdirSync(dirname(onDisk(file)), { recursive: true })
    writeFileSync(onDisk(file), text.replaceAll('\n', '\r\n'))
  }
  return {
    kindOf: (file) => kindOf(onDisk(file)),
    head: (file, maxBytes) => readForeignHead(onDisk(file), maxBytes),
    execPath: NODE,
  }
}

interface Given {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

function resolved(command: string, disk: Disk, { args = [], env = {} }: Given = {}) {
  const inherited = { Path: `${NODEJS};${BIN}`, SystemRoot: 'C:\\Windows', APPDATA: 'C:\\anna\\AppData' }
  return resolveOnWindows(command, { args, cwd: 'C:\\project', env: { ...inherited, ...env } }, disk)
}

test.each([
  ['npx', 'npx.cmd', NPX_CMD, 'npx-cli.js'],
  ['npx', 'npx.cmd', NPX_CMD_OF_NPM_6, 'npx-cli.js'],
  ['npm', 'npm.cmd', NPM_CMD, 'npm-cli.js'],
  ['NPX.CMD', 'npx.cmd', NPX_CMD, 'npx-cli.js'],
])(
  "%s of the Node installer is started as node with npm's script, without a shell",
  (command, file, text, script) => {
    const target = `${NODEJS}\\node_modules\\npm\\bin\\${script}`
    const disk = drive({ [`${NODEJS}\\${file}`]: text, [target]: '', [`${NODEJS}\\npx`]: '#!/bin/sh' })
    expect(resolved(command, disk, { args: ['-y', 'a b & "c"'] })).toEqual({
      ok: true,
      path: NODE,
      args: [target, '-y', 'a b & "c"'],
      cwd: 'C:\\project',
      searchPath: `${NODEJS};${BIN}`,
    })
  },
)

test.each<[string, string, Readonly<Record<string, string>>, string]>([
  ['the Node installer', 'prefix=$' + '{APPDATA}\\npm\n', {}, 'C:\\anna\\AppData\\npm'],
  ['an installer without a prefix', '', {}, NODEJS],
  [
    'an installer without a prefix, and a prefix in the environment',
    '',
    { NPM_CONFIG_PREFIX: 'C:\\g' },
    'C:\\g',
  ],
])('with %s, npx is that of the npm which npx.cmd would choose', (_, npmrc, env, prefix) => {
  const script = 'node_modules\\npm\\bin\\npx-cli.js'
  const disk = drive({
    [`${NODEJS}\\npx.cmd`]: NPX_CMD,
    [`${NODEJS}\\node_modules\\npm\\npmrc`]: npmrc,
    [`${NODEJS}\\${script}`]: '',
    [`C:\\anna\\AppData\\npm\\${script}`]: '',
    [`C:\\g\\${script}`]: '',
  })
  expect(resolved('npx', disk, { env })).toMatchObject({ path: NODE, args: [`${prefix}\\${script}`] })
})

test.each([
  ['npm 7 and later', shim('..\\tool\\cli.js'), []],
  ['npm 6', SHIM_OF_NPM_6, []],
  ['npm 5', SHIM_OF_NPM_5, []],
  [
    'npm 7 with options of node',
    shim('..\\tool\\cli.js', '--no-warnings --import=tsx'),
    ['--no-warnings', '--import=tsx'],
  ],
])('the program of a package, by %s, is started as node with its script', (_, text, options) => {
  const disk = drive({ [`${BIN}\\tool.cmd`]: text, [TOOL]: '' })
  expect(resolved('tool', disk, { args: ['x'] })).toMatchObject({ path: NODE, args: [...options, TOOL, 'x'] })
})

test('a shim prefers the node.exe beside it', () => {
  const own = `${BIN}\\node.exe`
  const disk = drive({ [`${BIN}\\tool.cmd`]: shim('..\\tool\\cli.js'), [TOOL]: '', [own]: '' })
  expect(resolved('tool', disk)).toMatchObject({ path: own, args: [TOOL] })
})

test('a shim of a program is replaced by the program', () => {
  const text = `${HEAD}"%dp0%\\..\\esbuild\\esbuild.exe"   %*\n`
  const target = 'C:\\project\\node_modules\\esbuild\\esbuild.exe'
  const disk = drive({ [`${BIN}\\esbuild.cmd`]: text, [target]: '' })
  expect(resolved('esbuild', disk, { args: ['--version'] })).toMatchObject({
    path: target,
    args: ['--version'],
  })
})

test('a shim whose script is missing is an error that names the script', () => {
  const disk = drive({ [`${BIN}\\tool.cmd`]: shim('..\\tool\\cli.js') })
  expect(resolved('tool', disk)).toMatchObject({
    ok: false,
    code: 'bad_interpreter',
    message: `${BIN}\\tool.cmd cannot start: it runs ${TOOL}, which does not exist`,
  })
})

test.each([
  ['sets a variable', PNPM_SHIM],
  ['does something else first', `@del C:\\x\n${shim('..\\tool\\cli.js')}`],
  ['names two scripts', SHIM_OF_NPM_5.replace('cli.js', 'other.js')],
  ['has a variable in the path', shim('..\\%NAME%\\cli.js')],
  ['starts another interpreter', shim('..\\tool\\cli.js').replaceAll('node', 'python')],
  ['is longer than any shim', `${shim('..\\tool\\cli.js')}${'\n'.repeat(9000)}`],
  ['is empty', ''],
])('a batch file that %s is run by cmd.exe', (_, text) => {
  const disk = drive({ [`${BIN}\\tool.cmd`]: text, [TOOL]: '' })
  expect(resolved('tool', disk, { args: ['x y'] })).toMatchObject({
    path: CMD,
    args: ['/d', '/s', '/c', `""${BIN}\\tool.cmd" ^"x^ y^""`],
    verbatim: true,
  })
})

test.each(['\r', '\n', '\0'])('an argument with %j for a batch file is refused', (char) => {
  const disk = drive({ [`${BIN}\\tool.bat`]: 'echo' })
  expect(resolved('tool', disk, { args: [`a${char}b`] })).toMatchObject({ ok: false, code: 'not_executable' })
})

test('a PowerShell script is run by PowerShell', () => {
  const disk = drive({ 'C:\\project\\run.ps1': '' })
  expect(resolved('.\\run.ps1', disk, { args: ['x'] })).toMatchObject({
    path: 'C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe',
    args: ['-NoProfile', '-File', 'C:\\project\\run.ps1', 'x'],
  })
})

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['the PATH of the server wins, whatever its case', { PATH: 'C:\\own' }, 'C:\\own\\x.exe'],
  ['a relative folder in PATH is in the working folder', { path: 'sub' }, 'C:\\project\\sub\\x.exe'],
  ['quotes in PATH are ignored', { path: '"C:\\with space"' }, 'C:\\with space\\x.exe'],
  ['the folder of the Node that runs Toolroom comes last', { Path: '' }, `${NODEJS}\\x.exe`],
  ['the order of endings is that of PATHEXT', { PathExt: '.BAT;.EXE', Path: 'C:\\own' }, CMD],
])('%s', (_, env, path) => {
  const disk = drive({
    [`${NODEJS}\\x.exe`]: '',
    'C:\\own\\x.exe': '',
    'C:\\own\\x.bat': '',
    'C:\\project\\sub\\x.exe': '',
    'C:\\project\\x.exe': '',
    'C:\\with space\\x.exe': '',
  })
  expect(resolved('x', disk, { env })).toMatchObject({ ok: true, path })
})

test.each([
  ['.\\x', 'C:\\project\\x.exe'],
  ['C:/project/x.exe', 'C:\\project\\x.exe'],
  ['~\\y.exe', 'C:\\anna\\y.exe'],
  ['z.v2', 'C:\\project\\node_modules\\.bin\\z.v2.exe'],
])('the command %s is the file %s', (command, path) => {
  const disk = drive({ 'C:\\project\\x.exe': '', 'C:\\anna\\y.exe': '', [`${BIN}\\z.v2.exe`]: '' })
  expect(resolved(command, disk, { env: { USERPROFILE: 'C:\\anna' } })).toMatchObject({ ok: true, path })
})

test.each([
  ['nothing', 'command_not_found', /any of these folders: C:\\Program Files\\nodejs, /, /Install it/],
  ['.\\nothing.exe', 'command_not_found', /no file/, /Install it/],
  ['here', 'command_not_found', /any of these folders/, /Install it/],
  ['.\\server.js', 'not_executable', /cannot run C:\\project\\server\.js as a program/, /node or python/],
])('the error for %s has the code %s', (command, code, message, hint) => {
  const disk = drive({ 'C:\\project\\server.js': '', 'C:\\project\\here.exe': '' })
  const found = resolved(command, disk)
  expect(found).toMatchObject({ ok: false, code })
  if (found.ok) return
  expect(found.message).toMatch(message)
  expect(found.hint).toMatch(hint)
})

test('a missing working folder is an error', () => {
  const place = { args: [], cwd: 'C:\\nowhere', env: {} }
  expect(resolveOnWindows('x', place, drive({}))).toMatchObject({ ok: false, code: 'cwd_not_found' })
})
