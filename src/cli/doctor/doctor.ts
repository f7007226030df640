import type { Answer, Context, Run, Terminal } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { findAddress } from '../run/service-address.ts'
import type { Api } from '../run/service-client.ts'
import { withReadingApi } from '../service/service-on-demand.ts'
import * as checks from './checks.ts'
import {
  type Applied,
  type Finding,
  fixLines,
  problem,
  type Section,
  sectionLines,
  summary,
} from './finding.ts'
import { ownFileFindings } from './own-file-checks.ts'

/** `toolroom doctor [--fix]`: exits with 1 if there are problems that were not repaired. */
export const doctor: Run = async (context) => {
  const { given, config } = context
  const isHere = given.flag('url') === undefined
  const isRunning = !isHere || findAddress(config.folders.data) !== undefined
  const checked = await withReadingApi(context, (api) => checkAll(context, api, isRunning))
  const sections = isHere ? withOwnFiles(checked, ownFileFindings(config)) : checked
  const findings = sections.flatMap((section) => section.findings)
  const isDry = given.is('dry-run')
  const fixes = isDry || given.is('fix') ? await applied(findings, isDry) : []
  return doctorAnswer(sections, fixes, { isDry, isRunning, terminal: context.terminal })
}

/** A section that cannot be checked is a problem of its own, and the others are still checked. */
async function checkAll(context: Context, api: Api, isRunning: boolean): Promise<Section[]> {
  const parts: Record<string, Promise<readonly Finding[]>> = {
    Toolroom: isRunning ? checks.toolroomFindings(context, api) : Promise.resolve([checks.NOT_RUNNING]),
    Runtimes: checks.runtimeFindings(api, isRunning),
    Isolation: checks.isolationFindings(api, isRunning),
    ...(context.given.is('online') && { Registry: checks.registryFindings(api) }),
    Agents: checks.agentFindings(context, api, isRunning),
    Processes: checks.processFindings(api),
  }
  const work = Object.entries(parts).map(async ([name, findings]) => ({
    name,
    findings: await findings.catch(notChecked),
  }))
  return context.during('Checking', Promise.all(work))
}

function notChecked(error: unknown): Finding[] {
  if (!(error instanceof Failure)) throw error
  return [problem(error.message)]
}

const withOwnFiles = ([first, ...others]: readonly Section[], own: readonly Finding[]): Section[] =>
  first ? [{ ...first, findings: [...first.findings, ...own] }, ...others] : []

async function applied(findings: readonly Finding[], isDry: boolean): Promise<Applied[]> {
  const all: Applied[] = []
  for (const finding of findings)
    for (const { does, undo, apply } of finding.fixes ?? []) {
      const error = isDry ? null : await apply().then(() => null, reasonOf)
      all.push({ does, undo, finding, done: !isDry && error === null, error })
    }
  return all
}

const typedFinding = (finding: Finding, typed: Terminal['typed']): Finding => ({
  ...finding,
  text: typed(finding.text),
  ...(finding.see !== undefined && { see: typed(finding.see) }),
})

function reasonOf(error: unknown): string {
  if (error instanceof Failure || (error instanceof Error && 'code' in error)) return error.message
  throw error
}

function doctorAnswer(
  sections: readonly Section[],
  fixes: readonly Applied[],
  {
    isDry,
    isRunning,
    terminal: { width, typed },
  }: { isDry: boolean; isRunning: boolean; terminal: Terminal },
): Answer {
  const findings = sections.flatMap((section) => section.findings)
  const isRepaired = (finding: Finding) => {
    const own = fixes.filter((fix) => fix.finding === finding)
    return own.length > 0 && own.every(({ done }) => done)
  }
  const left = findings.filter((finding) => !isRepaired(finding))
  const problems = left.filter(({ level }) => level === 'problem').length
  const hints = left.filter(({ level }) => level === 'hint').length
  const fixable = left.filter((finding) => finding.fixes).length
  return {
    json: {
      ok: problems === 0,
      running: isRunning,
      dry_run: isDry,
      problems,
      hints,
      sections: sections.map((section) => ({
        name: section.name,
        findings: section.findings.map(({ level, text, see = null, fixes: can = [] }) => ({
          level,
          text,
          see,
          can_fix: can.length > 0,
        })),
      })),
      fixes: fixes.map(({ does, undo, done, error }) => ({ does, undo, done, error })),
    },
    lines: [
      ...sections.flatMap(({ name, findings: own }) =>
        sectionLines({ name, findings: own.map((finding) => typedFinding(finding, typed)) }, width),
      ),
      ...fixLines(fixes, isDry, width),
      summary(problems, hints, fixes.length > 0 ? 0 : fixable),
    ],
    plain: sections.flatMap(({ name, findings: own }) => own.map(({ level, text }) => [name, level, text])),
    exit: problems === 0 ? undefined : 'failed',
  }
}
