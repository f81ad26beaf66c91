import {
  type ArgumentsHost,
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpCode,
  Param,
  Post,
  Put,
  type RawBodyRequest,
  Req,
} from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'
import { OutlayError } from '@outlay/core'
import { OutlayEngine, receiveWebhook } from '@outlay/nestjs'
import type { Request, Response } from 'express'
import type { EntityManager } from 'typeorm'
import { CashOuts } from './cash-outs.ts'
import type { CashOut } from './entities.ts'

/** Routes of couriers. */
@Controller('couriers/:courierId/cash-outs/:id')
export class CashOutController {
  constructor(private readonly cashOuts: CashOuts) {}

  @Put()
  @HttpCode(202)
  request(
    @Param('courierId') courierId: string,
    @Param('id') id: string,
    @Body() { amount = '' }: { readonly amount?: string } = {},
  ): Promise<CashOut> {
    return this.cashOuts.request({ courierId, id, amount })
  }

  @Get()
  read(@Param('courierId') courierId: string, @Param('id') id: string): Promise<CashOut> {
    return this.cashOuts.read(courierId, id)
  }
}

/** Receives the webhooks of the service. The application is created with `rawBody: true`, since the signature covers the octets. */
@Controller('webhooks/outlay')
export class WebhookController {
  constructor(private readonly engine: OutlayEngine<EntityManager>) {}

  @Post(':accountId')
  @HttpCode(200)
  receive(@Req() request: RawBodyRequest<Request>, @Param('accountId') accountId: string): Promise<void> {
    return receiveWebhook(this.engine, request, { accountId })
  }
}

/** Answers a refusal that names a field: it is the caller's error. Any other error is ours, unless it has a status. */
@Catch()
export class RefusalFilter extends BaseExceptionFilter implements ExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): void {
    if (OutlayError.is(error) && error.field !== undefined) {
      const { code, field, message } = error
      host.switchToHttp().getResponse<Response>().status(422).json({ code, field, message })
    } else {
      super.catch(error, host)
    }
  }
}
