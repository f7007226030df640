import { rmSync } from 'node:fs'
import { posix } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { OURS, type Program, type RunTool, ServiceManager, xmlText } from './service-manager.ts'

const LABEL = 'dev.toolroom'
const GONE_MS = 20_000
const POLL_MS = 100
const MAX_LOG_BYTES = 16 * 1_048_576

/** An agent of the user's launchd: it runs while the user is logged in, and needs no administrator. */
export class Launchd extends ServiceManager {
  readonly name = 'launchd'
  readonly asksToEnd = true
  readonly logCommand: string
  readonly #log: string
  readonly #domain: string
  readonly #target: string

  constructor(file: string, data: string, uid: number, run?: RunTool) {
    super(file, run)
    this.#log = posix.join(data, 'service.log')
    this.#domain = `gui/${uid}`
    this.#target = `${this.#domain}/${LABEL}`
    this.logCommand = `tail -n 20 '${this.#log}'`
  }

  get commands(): readonly string[] {
    return [
      `launchctl bootout ${this.#target}   # if it is loaded`,
      `launchctl enable ${this.#target}`,
      `launchctl bootstrap ${this.#domain} '${this.file}'`,
    ]
  }

  /**
   * launchd starts again whatever ends with an error, at most every 10 s, and knows no exit codes. STARTED_BY tells the
   * service to end without one after a refusal that lasts.
   */
  describe({ command, mainFile, env }: Program): string {
    const strings = [command, mainFile, 'up'].map((word) => `    <string>${xmlText(word)}</string>`)
    const variables = Object.entries({ ...env, TOOLROOM_STARTED_BY: 'launchd' }).map(
      ([name, value]) => `    <key>${xmlText(name)}</key><string>${xmlText(value)}</string>`,
    )
    return `${[
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      `<!-- ${OURS} -->`,
      '<plist version="1.0">',
      '<dict>',
      `  <key>Label</key><string>${LABEL}</string>`,
      '  <key>ProgramArguments</key>',
      '  <array>',
      ...strings,
      '  </array>',
      '  <key>EnvironmentVariables</key>',
      '  <dict>',
      ...variables,
      '  </dict>',
      '  <key>RunAtLoad</key><true/>',
      '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
      '  <key>ThrottleInterval</key><integer>10</integer>',
      '  <key>ExitTimeOut</key><integer>15</integer>',
      '  <key>ProcessType</key><string>Interactive</string>',
      `  <key>StandardOutPath</key><string>${xmlText(this.#log)}</string>`,
      `  <key>StandardErrorPath</key><string>${xmlText(this.#log)}</string>`,
      '</dict>',
      '</plist>',
    ].join('\n')}\n`
  }

  async check(): Promise<void> {
    this.refuseForeignFile()
    await this.#control('print', this.#domain)
  }

  async problem(): Promise<string | null> {
    return this.#control('print', this.#domain).then(
      () => null,
      ({ message }: Error) => `The launchd of this user cannot be reached: ${message}`,
    )
  }

  /** An agent that the user has disabled cannot be loaded, and neither can one that is still ending. */
  async install(program: Program, from = 'now'): Promise<void> {
    await this.writeFileFor(program, async () => {
      if (from === 'now') await this.#unload()
      await this.#control('enable', this.#target)
      if (from === 'now') await this.#load()
    })
  }

  async start(): Promise<void> {
    if ((await this.#shown()) === undefined) return this.#load()
    this.#forgetRefusal()
    await this.#control('kickstart', this.#target)
  }

  async #load(): Promise<void> {
    this.#forgetRefusal()
    await this.#control('bootstrap', this.#domain, this.file)
  }

  /** The last line of the log may be that of an earlier start. */
  #forgetRefusal(): void {
    rmSync(this.#log, { force: true })
  }

  async uninstall(): Promise<void> {
    await this.#unload()
    this.removeFile()
  }

  protected markOf(data: string): string {
    return `<key>TOOLROOM_HOME</key><string>${xmlText(data)}</string>`
  }

  protected async serviceState() {
    const shown = await this.#shown()
    const pid = Number(/^\s*pid = (\d+)$/m.exec(shown ?? '')?.[1] ?? 0)
    const running = pid > 0
    return {
      enabled: !(await this.#isDisabled()),
      running,
      failed: !running && this.#lastLine().startsWith('toolroom: '),
      pid: running ? pid : null,
    }
  }

  /** What launchd says about the loaded agent; undefined if it is not loaded. */
  async #shown(): Promise<string | undefined> {
    try {
      return await this.#control('print', this.#target)
    } catch {
      return undefined
    }
  }

  async #isDisabled(): Promise<boolean> {
    const shown = await this.#control('print-disabled', this.#domain).catch(() => '')
    return new RegExp(`"${LABEL}" => (?:disabled|true)`).test(shown)
  }

  /** SIGTERM, and SIGKILL after ExitTimeOut. Waits until it is gone. */
  async #unload(): Promise<void> {
    if ((await this.#shown()) === undefined) return
    // While it is ending, bootout reports an error. What counts is whether it ends.
    const refused = await this.#control('bootout', this.#target).then(
      () => undefined,
      (error: unknown) => error,
    )
    const deadline = performance.now() + GONE_MS
    while ((await this.#shown()) !== undefined) {
      if (performance.now() > deadline) throw refused ?? new Error(`${this.#target} has not ended`)
      await sleep(POLL_MS)
    }
  }

  /** The service ends with its error in the last line. After a planned end the last line is another one. */
  #lastLine(): string {
    try {
      return readForeign(this.#log, MAX_LOG_BYTES).bytes.toString().trim().split('\n').at(-1) ?? ''
    } catch {
      return '' // it has not been started yet
    }
  }

  #control(...args: readonly string[]): Promise<string> {
    return this.run('launchctl', args)
  }
}
