// Installs the agents' command line tools below node_modules/.cache and runs them with a temporary home directory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root, run } from '../lib.mjs'

const INSTALL_DEADLINE_MS = 5 * 60_000
const DEADLINE_MS = 60_000

/**
 * None of the five packages needs its install script: where it would only move a program into place, we run that program.
 * @returns the command, as a list, and the version that was installed
 */
export async function installCli([npm, ...before], agent, wanted) {
  const folder = join(root, 'node_modules/.cache/verify-agents', agent.type)
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'package.json'))) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  }
  const flags = ['--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--engine-strict=false']
  // An explicit prefix: inside `npm run`, npm's environment variables point to the checkout.
  const args = ['install', '--prefix', folder, ...flags, `${agent.package}@${wanted}`]
  const { code, output } = await run(npm, [...before, ...args], {
    quiet: true,
    deadlineMs: INSTALL_DEADLINE_MS,
  })
  if (code !== 0) throw new Error(`installation failed (${output.trim().split('\n').at(-1)})`)
  const packages = join(folder, 'node_modules')
  const program = join(packages, agent.native ?? agent.package, agent.bin)
  if (!existsSync(program)) throw new Error(`the package has no ${agent.bin} for this platform`)
  const { version } = JSON.parse(readFileSync(join(packages, agent.package, 'package.json'), 'utf8'))
  return { version, command: program.endsWith('.js') ? [process.execPath, program] : [program] }
}

/** Runs all list commands of an agent. @returns the listed servers, or the reason for the failure */
export async function askAgent(agent, cli, { home, project }) {
  const answers = []
  for (const question of agent.questions) {
    const answer = await runCli(cli, question, { home, project })
    if (answer.problem) return { servers: [], problem: answer.problem }
    answers.push(answer)
  }
  try {
    return { servers: agent.parse(answers), problem: null }
  } catch (error) {
    return { servers: [], problem: `its output could not be parsed (${error.message})` }
  }
}

/** `lines` are written to stdin; with `until` the process is ended as soon as stdout matches. */
export async function runCli({ command: [program, ...before] }, question, { home, project }) {
  const { args, lines, until, env = {} } = question
  const child = spawn(program, [...before, ...args], {
    cwd: project,
    env: { ...environment(home), ...env },
    stdio: [lines ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true, // its own group, so that the servers it started are ended with it
  })
  const output = { stdout: '', stderr: '' }
  let isDone = false
  let isLate = false
  const endGroup = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // All processes of the group have already ended.
    }
  }
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
      if (!until?.test(output.stdout)) return
      isDone = true
      endGroup()
    })
  }
  if (lines) {
    child.stdin.on('error', () => undefined) // it ended before reading; the exit code is checked below
    child.stdin.write(`${lines.join('\n')}\n`)
  }
  const deadline = setTimeout(() => {
    isLate = true
    endGroup()
  }, DEADLINE_MS)
  process.prependOnceListener('exit', endGroup) // before the home directory is removed
  try {
    const [code] = await once(child, 'close')
    const stdout = stripVTControlCharacters(output.stdout)
    const stderr = stripVTControlCharacters(output.stderr)
    const called = `'${args.join(' ')}'`
    if (isLate) return { problem: `${called} took longer than ${DEADLINE_MS / 1000} s` }
    if (code !== 0 && !isDone) {
      return { problem: `${called} ended with ${code}: ${firstLine(stderr || stdout, home)}` }
    }
    return { stdout, stderr, problem: null }
  } finally {
    clearTimeout(deadline)
    endGroup()
    process.off('exit', endGroup)
  }
}

function firstLine(text, home) {
  const line =
    text.split('\n').find((each) => /error|fail|invalid|required/i.test(each)) ?? text.split('\n')[0]
  return line.replaceAll(home, '~').trim().slice(0, 200)
}

/** Only PATH is inherited. Requests to other machines go to a proxy address that does not exist. */
export function environment(home) {
  const nowhere = 'http://127.0.0.1:9'
  const local = '127.0.0.1,localhost'
  return {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: home,
    TERM: 'dumb',
    NO_COLOR: '1',
    CI: '1',
    ...{ HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, ALL_PROXY: nowhere, NO_PROXY: local },
    ...{ http_proxy: nowhere, https_proxy: nowhere, all_proxy: nowhere, no_proxy: local },
    DO_NOT_TRACK: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    COPILOT_AUTO_UPDATE: 'false',
    GEMINI_TELEMETRY_ENABLED: 'false',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
}
