// Runs the official conformance suite against a URL. Exit code 0 when every required scenario passes.
//   node test/conformance/run.mjs --url http://127.0.0.1:PORT/mcp/fixture --requirements 2026-07-28
//     --header 'Authorization: Bearer …'   added to every request of the suite; may be given more than once
//     --scenario server-stateless          only this scenario
//     --json results.json                  the report as JSON, '-' for stdout instead of the lines
//   node test/conformance/run.mjs --pipe --requirements 2025-11-25     our fixture behind pipe.mjs, without a gateway
//   node test/conformance/run.mjs --client --requirements 2025-11-25   tests Toolroom's client for HTTP servers instead
//   node test/conformance/run.mjs --list --requirements 2025-11-25
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runClientSuite } from './client-suite.mjs'
import { startPipe } from './pipe.mjs'
import { listScenarios, REVISIONS, runSuite } from './suite.mjs'

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    pipe: { type: 'boolean' },
    client: { type: 'boolean' },
    requirements: { type: 'string' },
    header: { type: 'string', multiple: true, default: [] },
    scenario: { type: 'string' },
    json: { type: 'string' },
    list: { type: 'boolean' },
  },
})
const revisions = options.requirements === undefined && options.list ? REVISIONS : [options.requirements]
if (!revisions.every((each) => REVISIONS.includes(each)))
  fail(`--requirements must be one of ${REVISIONS.join(', ')}`)

try {
  if (options.list) for (const revision of revisions) await list(revision)
  else await judge(revisions[0])
} catch (error) {
  fail(error.message)
}

async function list(revision) {
  const scenarios = await listScenarios(revision, undefined, options.client ? 'client' : 'server')
  const required = scenarios.filter((each) => each.required)
  console.log(`${revision}: ${required.length} required, ${scenarios.length - required.length} only reported`)
  for (const { name, required: isRequired } of scenarios)
    console.log(`  ${isRequired ? 'required' : 'reported'}  ${name}`)
}

async function judge(revision) {
  if (options.client) {
    const report = await runClientSuite({ revision, scenario: options.scenario })
    show(report)
    process.exitCode = report.ok ? 0 : 1
    return
  }
  if ((options.url === undefined) === !options.pipe) fail('Specify either --url or --pipe')
  const pipe = options.pipe ? await startPipe() : undefined
  try {
    const url = pipe?.url ?? options.url
    const report = await runSuite({
      url,
      revision,
      headers: headersOf(options.header),
      scenario: options.scenario,
    })
    show(report)
    process.exitCode = report.ok ? 0 : 1
  } finally {
    await pipe?.close()
  }
}

function show(report) {
  const json = `${JSON.stringify(report, null, 2)}\n`
  if (options.json === '-') return process.stdout.write(json)
  if (options.json !== undefined) writeFileSync(options.json, json)
  for (const row of report.scenarios) console.log(lineOf(row))
  const { passed, total } = report.required
  const seconds = (report.duration_ms / 1000).toFixed(1)
  console.log(`${report.revision}: ${passed} of ${total} required scenarios passed in ${seconds} s`)
  console.log(`(suite ${report.suite_version} on Node ${report.node_version}, against ${report.url})`)
}

function lineOf({ name, required, passed, reason, warnings, checks }) {
  const verdict = `${passed ? 'passed' : 'failed'}  ${name}${required ? '' : ' (not required)'}`
  const unproven = warnings.length > 0 ? ` [${warnings.join(' | ')}]` : ''
  return `${verdict}: ${passed ? `${checks} check${checks === 1 ? '' : 's'}` : firstLine(reason)}${unproven}`
}

function firstLine(text) {
  return text.split('\n')[0].slice(0, 500)
}

function headersOf(lines) {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] =
        /^([\w-]+):\s*(.+)$/.exec(line) ?? fail('--header must have the form "Name: value"')
      return [name, value]
    }),
  )
}

function fail(line) {
  console.error(line)
  process.exit(2)
}
