import { AppError } from '../../kernel/errors.ts'

/** Why a registry gave no answer, in sentences that name its host and nothing else: a URL or a header may hold a login. */

const CHECK = "Check the registry with 'npm ping', and the network or proxy of this computer"
const AGAIN = 'Try again in a moment'

export const late = (host: string) =>
  new AppError('registry_timeout', `The registry ${host} did not answer in time`, { hint: CHECK })

export function unreachable(error: unknown, host: string): AppError {
  const code = codeOf(error)
  if (code === 'ETIMEDOUT') return late(host)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new AppError('registry_unreachable', `The registry ${host} was not found in the network`, {
      hint: CHECK,
    })
  }
  if (/CERT|SIGNED|SSL|TLS|UNABLE_TO/.test(code)) {
    const hint = 'Start Toolroom with NODE_EXTRA_CA_CERTS set to the file of the authority that you trust'
    return new AppError('registry_unreachable', `The certificate of the registry ${host} was not accepted`, {
      hint,
    })
  }
  return new AppError('registry_unreachable', `The registry ${host} could not be reached${named(code)}`, {
    hint: CHECK,
  })
}

export const blocked = (host: string) =>
  new AppError('registry_unreachable', `${host} is an address that Toolroom never asks`, { hint: CHECK })

export const brokenOff = (error: unknown, host: string) =>
  new AppError(
    'registry_failed',
    `The registry ${host} broke off in the middle of its answer${named(codeOf(error))}`,
    {
      hint: AGAIN,
    },
  )

export const strayed = (host: string) =>
  new AppError('registry_failed', `The registry ${host} sends us on to an address that cannot be followed`, {
    hint: CHECK,
  })

/** `members.too_large` tells it from other failures, so that the short form can be asked for. */
export const tooLarge = (host: string) =>
  new AppError('registry_failed', `The registry ${host} answered with more than 20 MiB`, {
    members: { too_large: true },
  })

export const notJson = (host: string) =>
  new AppError('registry_failed', `The registry ${host} answered with something that is not JSON`, {
    hint: 'Often this is the sign-in page of a network or a proxy; open the registry in a browser to see it',
  })

export const notAPackage = (host: string, name: string) =>
  new AppError(
    'registry_failed',
    `What the registry ${host} answered about '${name}' is not the description of a package`,
    {
      hint: "Check the setting 'registry' of npm",
    },
  )

export const notAList = (host: string) =>
  new AppError('registry_failed', `What ${host} answered is not a list of MCP servers`, {
    hint: 'Check the address of the MCP Registry',
  })

/** For every status but 200 and those that the caller knows better. */
export function refusal(status: number, host: string): AppError {
  if (status === 401 || status === 403) {
    const hint = "Sign in with 'npm login', or check the token in your .npmrc"
    return new AppError('registry_refused', `The registry ${host} wants a login, or does not accept yours`, {
      hint,
    })
  }
  const hint = status >= 500 || status === 429 ? AGAIN : "Check the setting 'registry' of npm"
  return new AppError('registry_failed', `The registry ${host} answered with the error ${status}`, { hint })
}

const named = (code: string) => (/^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : '')

/** With several addresses to try there are several errors; the first is as good as any. */
function codeOf(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}
