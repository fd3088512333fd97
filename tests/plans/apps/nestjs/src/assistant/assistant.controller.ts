import { Body, Controller, HttpCode, Post } from '@nestjs/common';

import { AssistantService } from './assistant.service';
import { AskDto } from './ask.dto';

@Controller('assistant')
export class AssistantController {
  constructor(private readonly assistant: AssistantService) {}

  @Post('ask')
  @HttpCode(200)
  async ask(@Body() body: AskDto): Promise<{ answer: string }> {
    return { answer: await this.assistant.answer(body.question) };
  }
}
