import { ApiError } from './api.ts'
import { TOKEN_HEADER } from './client.ts'
import { currentSession } from './session.ts'

type Value = string | number | readonly (string | number)[] | undefined

/** Saves an answer of the service as a file. It is read by a request of ours, because a link cannot carry the token. */
export async function saveFile(path: string, query: Readonly<Record<string, Value>>): Promise<void> {
  const url = new URL(path, location.origin)
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) url.searchParams.append(name, String(one))
  const { token } = currentSession()
  const response = await fetch(url, { ...(token !== undefined && { headers: { [TOKEN_HEADER]: token } }) })
  if (!response.ok) throw new ApiError(response.status, await response.text())
  const named = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  saveBlob(await response.blob(), named ?? 'toolroom.txt')
}

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
