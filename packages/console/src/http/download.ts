import { commonHeaders } from './answer.ts'

/** One part of a file, and how the next one is read; nothing behind the last. */
export interface Chunk {
  readonly text: string
  /** Reads the next part, until the signal fires. */
  readonly next?: ((signal: AbortSignal) => Promise<Chunk>) | undefined
}

/** A file that is sent part by part, as fast as somebody reads it. */
export interface Download extends Chunk {
  readonly mediaType: string
  readonly fileName: string
}

/** True of what a route answers that is a file. */
export const isDownload = (answer: unknown): answer is Download =>
  typeof answer === 'object' && answer !== null && 'mediaType' in answer && 'fileName' in answer

/** The same file, each of whose further parts is read within `enter`. */
export function withinPlaces(download: Download, enter: (work: () => Promise<Chunk>) => Promise<Chunk>): Download {
  const wrap = ({ text, next }: Chunk): Chunk => ({
    text,
    next: next === undefined ? undefined : async (signal) => wrap(await enter(() => next(signal))),
  })
  return { ...download, ...wrap(download) }
}

/**
 * Answers with a file. Nothing is read ahead, and nothing more when the reader has gone. A part that cannot be read breaks the connection: a file that ends
 * early would seem whole.
 */
export function answerDownload({ mediaType, fileName, ...first }: Download, requestId: string): Response {
  const encoder = new TextEncoder()
  const gone = new AbortController()
  let chunk: Chunk | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunk = chunk === undefined ? first : await chunk.next?.(gone.signal)
        if (chunk !== undefined) controller.enqueue(encoder.encode(chunk.text))
        if (chunk?.next === undefined) controller.close()
      },
      cancel: () => gone.abort(),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      ...commonHeaders,
      'content-type': `${mediaType}; charset=utf-8`,
      'content-disposition': `attachment; filename="${fileName}"`,
      'x-request-id': requestId,
    },
  })
}
