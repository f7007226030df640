import { win32 } from 'node:path'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { OURS, type Program, type RunTool, ServiceManager, xmlText } from './service-manager.ts'

interface Options {
  readonly file: string
  readonly data: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Without its domain. */
  readonly userName: string
  readonly run?: RunTool | undefined
}

/** A task of the user, which needs no administrator. */
export class TaskScheduler extends ServiceManager {
  readonly name = 'Task Scheduler'
  /** Windows has no signal that a program could answer. */
  readonly asksToEnd = false
  readonly logCommand: string
  readonly #data: string
  readonly #user: string
  readonly #task: string

  constructor({ file, data, env, userName, run }: Options) {
    super(file, run, 'utf16le')
    this.#data = data
    this.#user = env.USERDOMAIN ? `${env.USERDOMAIN}\\${userName}` : userName
    this.#task = `Toolroom-${userName}` // all users share one list of tasks
    this.logCommand = `type "${win32.join(data, 'up.log')}"`
  }

  get commands(): readonly string[] {
    const lines = [this.#delete, this.#create, this.#start].map((args) =>
      ['schtasks', ...args.map(quotedIfNeeded)].join(' '),
    )
    return lines.map((line, at) => (at === 0 ? `${line}   (if it exists)` : line))
  }

  /**
   * The task ends when the service is ready: a task that stays shows a console window as long as it runs. A task has no
   * variables; it gets those of the user. RestartOnFailure repeats a start that failed, but does not notice a crash.
   */
  describe({ command, mainFile, data }: Program): string {
    const args = [mainFile, 'up', '--detach', '--restart-after-crash', '--toolroom-home', data]
    return `${[
      '\uFEFF<?xml version="1.0" encoding="UTF-16"?>',
      '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
      '  <RegistrationInfo>',
      `    <Description>${OURS}</Description>`,
      '  </RegistrationInfo>',
      '  <Triggers>',
      '    <LogonTrigger>',
      '      <Enabled>true</Enabled>',
      `      <UserId>${xmlText(this.#user)}</UserId>`,
      '    </LogonTrigger>',
      '  </Triggers>',
      '  <Principals>',
      '    <Principal id="Author">',
      `      <UserId>${xmlText(this.#user)}</UserId>`,
      '      <LogonType>InteractiveToken</LogonType>',
      '      <RunLevel>LeastPrivilege</RunLevel>',
      '    </Principal>',
      '  </Principals>',
      '  <Settings>',
      '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
      '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
      '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
      '    <AllowHardTerminate>true</AllowHardTerminate>',
      '    <StartWhenAvailable>true</StartWhenAvailable>',
      '    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>',
      '    <IdleSettings>',
      '      <StopOnIdleEnd>false</StopOnIdleEnd>',
      '      <RestartOnIdle>false</RestartOnIdle>',
      '    </IdleSettings>',
      '    <AllowStartOnDemand>true</AllowStartOnDemand>',
      '    <Enabled>true</Enabled>',
      '    <Hidden>false</Hidden>',
      '    <RunOnlyIfIdle>false</RunOnlyIfIdle>',
      '    <WakeToRun>false</WakeToRun>',
      '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
      '    <Priority>5</Priority>',
      '    <RestartOnFailure>',
      '      <Interval>PT1M</Interval>',
      '      <Count>3</Count>',
      '    </RestartOnFailure>',
      '  </Settings>',
      '  <Actions Context="Author">',
      '    <Exec>',
      `      <Command>${xmlText(command)}</Command>`,
      `      <Arguments>${xmlText(args.map(quoted).join(' '))}</Arguments>`,
      '    </Exec>',
      '  </Actions>',
      '</Task>',
    ].join('\r\n')}\r\n`
  }

  async check(): Promise<void> {
    this.refuseForeignFile()
    const task = await this.#registered()
    if (task?.includes('<Task') && !task.includes(OURS))
      throw new Error(`The task ${this.#task} exists and was not made by Toolroom`)
  }

  async problem(): Promise<string | null> {
    return null // every user of Windows has it
  }

  async install(program: Program, from = 'now'): Promise<void> {
    await this.writeFileFor(program, async () => {
      // A new task has no last result, which may be an earlier refusal. Mostly there is no task to delete.
      await this.run('schtasks', this.#delete).catch(() => {})
      await this.run('schtasks', this.#create)
      if (from === 'now') await this.start()
    })
  }

  async start(): Promise<void> {
    await this.run('schtasks', this.#start)
  }

  async uninstall(): Promise<void> {
    await this.run('schtasks', this.#delete)
    this.removeFile()
  }

  protected markOf(data: string): string {
    return xmlText(quoted(data))
  }

  protected async serviceState() {
    const task = await this.#registered()
    if (task === undefined) return undefined
    const instance = runningInstance(this.#data)
    return {
      enabled: !task.includes('<Enabled>false</Enabled>'),
      running: instance !== undefined,
      failed: !instance && (await this.#hasFailed()),
      pid: instance?.pid ?? null,
    }
  }

  /** What the Task Scheduler has stored; undefined if there is no such task. */
  async #registered(): Promise<string | undefined> {
    try {
      const text = await this.run('schtasks', ['/query', '/tn', this.#task, '/xml'])
      return text.replaceAll('\0', '') // it may be UTF-16
    } catch {
      return undefined
    }
  }

  /** The seventh column is the exit code of the last start, or a larger number for a state. Headings are translated. */
  async #hasFailed(): Promise<boolean> {
    const row = await this.run('schtasks', ['/query', '/tn', this.#task, '/v', '/fo', 'csv', '/nh'])
    const result = Number([...row.matchAll(/"([^"]*)"/g)][6]?.[1] ?? 0)
    return result > 0 && result < 256
  }

  get #delete(): readonly string[] {
    return ['/delete', '/tn', this.#task, '/f']
  }

  get #create(): readonly string[] {
    return ['/create', '/tn', this.#task, '/xml', this.file, '/f']
  }

  get #start(): readonly string[] {
    return ['/run', '/tn', this.#task]
  }
}

/** As Windows programs split their command line: backslashes count only before a quote. */
const quoted = (text: string): string => `"${text.replace(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, '$&$&')}"`

const quotedIfNeeded = (text: string): string => (/^[\w/:.\\-]+$/.test(text) ? text : quoted(text))
